// Lanes: a few doubles at once, in the instruction set of one path.
//
// Included once per path, inside its namespace (see paths.hpp), so there is no include guard.
// Arithmetic, comparison and ?: on vectors are the compiler's own (GCC and Clang). What they have
// no word for is written out per path: which lanes exceed a value, and writing some of them one
// after the other.

#if UNSWAYED_LANES == 1
typedef double Lanes;
#else
typedef double Lanes __attribute__((vector_size(UNSWAYED_LANES * sizeof(double)),
                                    aligned(sizeof(double))));
typedef std::int64_t Bits __attribute__((vector_size(UNSWAYED_LANES * sizeof(double)),
                                         aligned(sizeof(double))));
#endif
constexpr std::size_t kLanes = UNSWAYED_LANES;

UNSWAYED_INLINE Lanes load(const double *p) { return *reinterpret_cast<const Lanes *>(p); }
UNSWAYED_INLINE void store(double *p, const Lanes &v) { *reinterpret_cast<Lanes *>(p) = v; }
UNSWAYED_INLINE Lanes all(double x) { return Lanes{} + x; }

UNSWAYED_INLINE double add_up(const Lanes &v) {
#if UNSWAYED_LANES == 1
  return v;
#else
  double sum = 0;
  for (std::size_t j = 0; j < kLanes; ++j) sum += v[j];
  return sum;
#endif
}

UNSWAYED_INLINE Lanes magnitude(const Lanes &v) { return v < -v ? -v : v; }

UNSWAYED_INLINE double largest_of(const Lanes &v) {
#if UNSWAYED_LANES == 1
  return v;
#else
  double largest = v[0];
  for (std::size_t j = 1; j < kLanes; ++j) largest = v[j] > largest ? v[j] : largest;
  return largest;
#endif
}

// The upper 26 bits of each lane's fraction: the rest has 27.
UNSWAYED_INLINE Lanes head(const Lanes &v) {
#if UNSWAYED_LANES == 1
  return upper_half(v);
#else
  return (Lanes)((Bits)v & kUpperHalf);
#endif
}

// One bit per lane: whether it exceeds the cut. NaN never does.
UNSWAYED_INLINE unsigned above(const Lanes &v, const Lanes &cut) {
#if defined(UNSWAYED_PATH_AVX512)
  return _mm512_cmp_pd_mask((__m512d)v, (__m512d)cut, _CMP_GT_OQ);
#elif defined(UNSWAYED_PATH_AVX2)
  return static_cast<unsigned>(
      _mm256_movemask_pd(_mm256_cmp_pd((__m256d)v, (__m256d)cut, _CMP_GT_OQ)));
#elif defined(UNSWAYED_PATH_NEON)
  const uint64x2_t over = vcgtq_f64((float64x2_t)v, (float64x2_t)cut);
  return static_cast<unsigned>((vgetq_lane_u64(over, 0) & 1) | (vgetq_lane_u64(over, 1) & 2));
#elif UNSWAYED_LANES == 1
  return v > cut;
#else // no instruction set: the same shape as one, for tests
  unsigned bits = 0;
  for (std::size_t j = 0; j < kLanes; ++j) bits |= static_cast<unsigned>(v[j] > cut[j]) << j;
  return bits;
#endif
}

// Write the lanes whose bit is set one after the other, and return how many they are. What stands
// after them, up to kLanes doubles, is overwritten.
UNSWAYED_INLINE std::size_t put(double *to, const Lanes &v, unsigned keep) {
#if defined(UNSWAYED_PATH_AVX512)
  _mm512_storeu_pd(to, _mm512_maskz_compress_pd(static_cast<__mmask8>(keep), (__m512d)v));
#elif defined(UNSWAYED_PATH_AVX2)
  const __m256i order = _mm256_load_si256(reinterpret_cast<const __m256i *>(kCompress[keep]));
  const __m256i moved = _mm256_permutevar8x32_epi32(_mm256_castpd_si256((__m256d)v), order);
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), moved);
#elif defined(UNSWAYED_PATH_NEON)
  vst1q_f64(to, keep == 2 ? vdupq_laneq_f64((float64x2_t)v, 1) : (float64x2_t)v);
#elif UNSWAYED_LANES == 1
  *to = v;
  return keep;
#else
  std::size_t kept = 0;
  for (std::size_t j = 0; j < kLanes; ++j)
    if (keep >> j & 1) to[kept++] = v[j];
#endif
  return static_cast<std::size_t>(__builtin_popcount(keep));
}
