// Selection kernels: what the k most influential labels can do to a score.
//
// Input is one influence row z over d entries. Entry i stands for equal training rows:
// n_upper[i] of them may rise by upper[i] >= 0, n_lower[i] may fall by lower[i] <= 0.
// Upwards, entry i moves the score by value_i = max(z_i*lower_i, z_i*upper_i) per label and
// holds count_i labels (n_upper where z_i >= 0, n_lower otherwise); downwards is the same at -z.
//
// Answers are defined without an order of summation: the reach of k labels is the correctly
// rounded sum of the k largest values, and the minimum budget is the least k whose reach exceeds
// the margin. The NumPy twin computes that literally. The kernels narrow down the place where
// the prefix crosses its target instead of sorting, and use a plain sum only where a bound on
// its rounding error leaves one answer.
//
// Kernels are single-threaded and hold no GIL; callers run blocks of rows side by side.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <cstring>
#include <utility>
#include <vector>

#if defined(__x86_64__) && defined(__linux__)
#include <immintrin.h>
#define UNSWAYED_AVX512 1
#endif

#if defined(UNSWAYED_AVX512) && !defined(__clang__)
// One binary, the widest vectors of the machine it runs on.
#define VECTORISED __attribute__((target_clones("avx512f", "avx2", "default"), noinline))
#else
#define VECTORISED
#endif

namespace nb = nanobind;

namespace {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutputMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using IndexMatrix = nb::ndarray<std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using IndexVector = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr std::size_t kSample = 128;     // pivots are read off a sample of this size
constexpr double kSpread = 6;            // sampled labels either side of the pivot: one deviation
constexpr std::size_t kBisectBelow = 768; // below this, halving beats sampling
constexpr std::size_t kSortBelow = 24;   // below this, sorting beats halving

constexpr std::size_t kLanes = 8;
typedef double Lanes __attribute__((vector_size(kLanes * sizeof(double)), aligned(sizeof(double))));

struct Entries {
  const double *lower, *upper, *n_lower, *n_upper;
  std::size_t size;
  bool unit; // every label that may move stands alone: counts need not be read
};

struct Totals {
  double sum = 0, count = 0;

  Totals operator+(const Totals &o) const { return {sum + o.sum, count + o.count}; }
  Totals operator-(const Totals &o) const { return {sum - o.sum, count - o.count}; }
};

struct Item {
  double value, count;
};

inline Lanes load(const double *p) { return *reinterpret_cast<const Lanes *>(p); }
inline void store(double *p, const Lanes &v) { *reinterpret_cast<Lanes *>(p) = v; }

inline double add_lanes(const Lanes &v) {
  double sum = 0;
  for (std::size_t j = 0; j < kLanes; ++j) sum += v[j];
  return sum;
}

// value_i of every entry in one direction (sign +1 up, -1 down), and the totals of those that
// are not 0.
VECTORISED Totals fill_units(const double *z, const Entries &e, double sign, double *value) {
  const double *lower = e.lower, *upper = e.upper;
  const std::size_t n = e.size;
  const Lanes zero = {}, one = zero + 1.0;
  Lanes sum = {}, labels = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Lanes s = load(z + i) * sign;
    const Lanes a = s * load(lower + i), b = s * load(upper + i), v = a > b ? a : b;
    store(value + i, v);
    sum += v > 0.0 ? v : zero;
    labels += v > 0.0 ? one : zero;
  }
  Totals t{add_lanes(sum), add_lanes(labels)};
  for (; i < n; ++i) {
    const double s = z[i] * sign, a = s * lower[i], b = s * upper[i];
    value[i] = a > b ? a : b;
    if (value[i] > 0) t = t + Totals{value[i], 1.0};
  }
  return t;
}

// The same, and how many labels each entry holds in that direction.
VECTORISED Totals fill_counted(const double *z, const Entries &e, double sign, double *value,
                               double *count) {
  const double *lower = e.lower, *upper = e.upper, *n_lower = e.n_lower, *n_upper = e.n_upper;
  const std::size_t n = e.size;
  const Lanes zero = {};
  Lanes sum = {}, labels = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Lanes s = load(z + i) * sign;
    const Lanes a = s * load(lower + i), b = s * load(upper + i), v = a > b ? a : b;
    const Lanes c = s >= 0.0 ? load(n_upper + i) : load(n_lower + i);
    store(value + i, v);
    store(count + i, c);
    const Lanes moved = v > 0.0 ? c : zero;
    sum += v * moved;
    labels += moved;
  }
  Totals t{add_lanes(sum), add_lanes(labels)};
  for (; i < n; ++i) {
    const double s = z[i] * sign, a = s * lower[i], b = s * upper[i];
    value[i] = a > b ? a : b;
    count[i] = s >= 0 ? n_upper[i] : n_lower[i];
    if (value[i] > 0) t = t + Totals{value[i] * count[i], count[i]};
  }
  return t;
}

// Sum of count*value and of count over the entries with value > cut; without counts, each is 1.
VECTORISED Totals totals_of_units(const double *value, std::size_t n, double cut) {
  const Lanes zero = {}, one = zero + 1.0;
  Lanes sum[2] = {}, count[2] = {};
  std::size_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes)
    for (std::size_t j = 0; j < 2; ++j) {
      const Lanes v = load(value + i + j * kLanes);
      sum[j] += v > cut ? v : zero;
      count[j] += v > cut ? one : zero;
    }
  Totals t{add_lanes(sum[0] + sum[1]), add_lanes(count[0] + count[1])};
  for (; i < n; ++i)
    if (value[i] > cut) t = t + Totals{value[i], 1.0};
  return t;
}

VECTORISED Totals totals_of_counted(const double *value, const double *count, std::size_t n,
                                    double cut) {
  const Lanes zero = {};
  Lanes sum[2] = {}, labels[2] = {};
  std::size_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes)
    for (std::size_t j = 0; j < 2; ++j) {
      const Lanes v = load(value + i + j * kLanes), all = load(count + i + j * kLanes);
      const Lanes c = v > cut ? all : zero;
      sum[j] += v * c;
      labels[j] += c;
    }
  Totals t{add_lanes(sum[0] + sum[1]), add_lanes(labels[0] + labels[1])};
  for (; i < n; ++i)
    if (value[i] > cut) t = t + Totals{value[i] * count[i], count[i]};
  return t;
}

// Entries in canonical form: values, and counts unless every count is 1.
struct Span {
  const double *value, *count; // count is null for units
  std::size_t size;

  double labels(std::size_t i) const { return count ? count[i] : 1.0; }
  Totals above(double cut) const {
    return count ? totals_of_counted(value, count, size, cut)
                 : totals_of_units(value, size, cut);
  }
};

// What one row's labels can do in one direction, and the totals of all that do anything.
struct Row {
  Span span;
  Totals all;
};

// Keep the entries with low < value <= high. Branch-free, so it costs the same for any share.
std::size_t compact_scalar(const Span &in, std::size_t from, std::size_t kept, double low,
                           double high, double *value, double *count) {
  for (std::size_t i = from; i < in.size; ++i) {
    const double v = in.value[i];
    value[kept] = v;
    if (in.count) count[kept] = in.count[i];
    kept += static_cast<std::size_t>(v > low) & static_cast<std::size_t>(v <= high);
  }
  return kept;
}

#ifdef UNSWAYED_AVX512
#define AVX512 __attribute__((target("avx512f,popcnt")))

// Write the lanes to keep one after the other, and return how many they are.
AVX512 inline std::size_t put(double *to, __mmask8 keep, const __m512d &lanes) {
  _mm512_storeu_pd(to, _mm512_maskz_compress_pd(keep, lanes));
  return static_cast<std::size_t>(__builtin_popcount(keep));
}

AVX512 std::size_t compact_avx512(const Span &in, double low, double high, double *value,
                                  double *count) {
  const __m512d floor = _mm512_set1_pd(low), ceiling = _mm512_set1_pd(high);
  std::size_t kept = 0, i = 0;
  for (; i + kLanes <= in.size; i += kLanes) {
    const __m512d v = _mm512_loadu_pd(in.value + i);
    const __mmask8 keep = static_cast<__mmask8>(_mm512_cmp_pd_mask(v, floor, _CMP_GT_OQ) &
                                                _mm512_cmp_pd_mask(v, ceiling, _CMP_LE_OQ));
    if (in.count) put(count + kept, keep, _mm512_loadu_pd(in.count + i));
    kept += put(value + kept, keep, v);
  }
  return compact_scalar(in, i, kept, low, high, value, count);
}

// The same, and the totals above both ends, in one pass.
AVX512 std::size_t split_avx512(const Span &in, double low, double high, double *value,
                                double *count, Totals &over_low, Totals &over_high) {
  const __m512d floor = _mm512_set1_pd(low), ceiling = _mm512_set1_pd(high);
  const __m512d one = _mm512_set1_pd(1.0), zero = _mm512_setzero_pd();
  __m512d sum_low = zero, labels_low = zero, sum_high = zero, labels_high = zero;
  std::size_t kept = 0, i = 0;
  for (; i + kLanes <= in.size; i += kLanes) {
    const __m512d v = _mm512_loadu_pd(in.value + i);
    const __m512d c = in.count ? _mm512_loadu_pd(in.count + i) : one;
    const __m512d moved = _mm512_mul_pd(v, c);
    const __mmask8 above_low = _mm512_cmp_pd_mask(v, floor, _CMP_GT_OQ);
    const __mmask8 above_high = _mm512_cmp_pd_mask(v, ceiling, _CMP_GT_OQ);
    sum_low = _mm512_mask_add_pd(sum_low, above_low, sum_low, moved);
    labels_low = _mm512_mask_add_pd(labels_low, above_low, labels_low, c);
    sum_high = _mm512_mask_add_pd(sum_high, above_high, sum_high, moved);
    labels_high = _mm512_mask_add_pd(labels_high, above_high, labels_high, c);
    const __mmask8 keep = static_cast<__mmask8>(above_low & ~above_high);
    if (in.count) put(count + kept, keep, c);
    kept += put(value + kept, keep, v);
  }
  const Span rest{in.value + i, in.count ? in.count + i : nullptr, in.size - i};
  over_low = Totals{_mm512_reduce_add_pd(sum_low), _mm512_reduce_add_pd(labels_low)} +
             rest.above(low);
  over_high = Totals{_mm512_reduce_add_pd(sum_high), _mm512_reduce_add_pd(labels_high)} +
              rest.above(high);
  return compact_scalar(in, i, kept, low, high, value, count);
}

// fill_units and fill_counted, but only of entries that can do anything.
AVX512 Row fill_avx512(const double *z, const Entries &e, double sign, double *value,
                       double *count) {
  const __m512d signs = _mm512_set1_pd(sign), zero = _mm512_setzero_pd();
  const __m512d one = _mm512_set1_pd(1.0);
  __m512d sum = zero, labels = zero;
  std::size_t kept = 0, i = 0;
  for (; i + kLanes <= e.size; i += kLanes) {
    const __m512d s = _mm512_mul_pd(_mm512_loadu_pd(z + i), signs);
    const __mmask8 up = _mm512_cmp_pd_mask(s, zero, _CMP_GE_OQ);
    const __m512d step =
        _mm512_mask_loadu_pd(_mm512_loadu_pd(e.lower + i), up, e.upper + i);
    const __m512d v = _mm512_mul_pd(s, step);
    const __mmask8 keep = _mm512_cmp_pd_mask(v, zero, _CMP_GT_OQ);
    __m512d c = one;
    if (!e.unit) {
      c = _mm512_mask_loadu_pd(_mm512_loadu_pd(e.n_lower + i), up, e.n_upper + i);
      put(count + kept, keep, c);
    }
    sum = _mm512_mask_add_pd(sum, keep, sum, _mm512_mul_pd(v, c));
    labels = _mm512_mask_add_pd(labels, keep, labels, c);
    kept += put(value + kept, keep, v);
  }
  Totals all{_mm512_reduce_add_pd(sum), _mm512_reduce_add_pd(labels)};
  for (; i < e.size; ++i) {
    const double s = z[i] * sign, v = s * (s >= 0 ? e.upper[i] : e.lower[i]);
    if (!(v > 0)) continue;
    const double c = e.unit ? 1.0 : s >= 0 ? e.n_upper[i] : e.n_lower[i];
    all = all + Totals{v * c, c};
    value[kept] = v;
    count[kept++] = c;
  }
  return {{value, e.unit ? nullptr : count, kept}, all};
}
#endif

bool has_avx512() {
#ifdef UNSWAYED_AVX512
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("popcnt");
  return has;
#else
  return false;
#endif
}

// Uninitialised, so that pages nobody needs are never touched. Buffers start at different
// offsets within a page: equal ones make stores look like they alias later loads.
class Buffer {
public:
  Buffer(std::size_t size, std::size_t slot)
      : store_(new double[size + kLanes + 80 * (slot + 1)]), start_(store_.get() + 80 * slot + 40) {
  }
  double *data() { return start_; }

private:
  std::unique_ptr<double[]> store_;
  double *start_;
};

struct Scratch {
  Buffer value, count, part_value[2], part_count[2];
  std::vector<Item> items;

  const std::size_t size;

  explicit Scratch(std::size_t d)
      : value(d, 0), count(d, 1), part_value{{d, 2}, {d, 3}}, part_count{{d, 4}, {d, 5}},
        size(d) {}

  // All entries, in their order.
  Row fill(const double *z, const Entries &e, double sign) {
    if (e.unit) {
      const Totals all = fill_units(z, e, sign, value.data());
      return {{value.data(), nullptr, e.size}, all};
    }
    const Totals all = fill_counted(z, e, sign, value.data(), count.data());
    return {{value.data(), count.data(), e.size}, all};
  }

  // In any order, and those that can do nothing may be missing.
  Row fill_movable(const double *z, const Entries &e, double sign) {
#ifdef UNSWAYED_AVX512
    if (has_avx512()) return fill_avx512(z, e, sign, value.data(), count.data());
#endif
    return fill(z, e, sign);
  }

  // The two sides take turns, so that narrowing never writes over what it reads.
  Span narrow(const Span &in, double low, double high, int side) {
    double *v = part_value[side].data(), *c = part_count[side].data();
#ifdef UNSWAYED_AVX512
    if (has_avx512()) return {v, in.count ? c : nullptr, compact_avx512(in, low, high, v, c)};
#endif
    return {v, in.count ? c : nullptr, compact_scalar(in, 0, 0, low, high, v, c)};
  }

  // Narrow, and find the totals above both ends.
  Span split(const Span &in, double low, double high, int side, Totals &over_low,
             Totals &over_high) {
#ifdef UNSWAYED_AVX512
    if (has_avx512()) {
      double *v = part_value[side].data(), *c = part_count[side].data();
      const std::size_t kept = split_avx512(in, low, high, v, c, over_low, over_high);
      return {v, in.count ? c : nullptr, kept};
    }
#endif
    over_low = in.above(low), over_high = in.above(high);
    return narrow(in, low, high, side);
  }

  const std::vector<Item> &ranked(const Span &span) {
    items.clear();
    for (std::size_t i = 0; i < span.size; ++i) items.push_back({span.value[i], span.labels(i)});
    std::sort(items.begin(), items.end(),
              [](const Item &a, const Item &b) { return a.value > b.value; });
    return items;
  }
};

// Where a prefix of the entries, largest first, first exceeds a target.
struct Cut {
  bool found;
  double value; // the entries with this value take the prefix across
  Totals above; // totals of all entries with a larger value
};

enum class Measure { kCount, kSum };

template <Measure measure> inline double amount(const Totals &t) {
  return measure == Measure::kCount ? t.count : t.sum;
}

// A value above which the span holds about `wanted`. Halving a vectorised total is cheaper than
// sorting: it mispredicts no branch.
template <Measure measure> double level(const Span &span, double wanted, double low, double high) {
  for (int step = 0; step < 12; ++step) {
    const double middle = low + (high - low) / 2;
    const bool below = amount<measure>(span.above(middle)) > wanted;
    low = below ? middle : low;
    high = below ? high : middle;
  }
  return high;
}

// Two pivots around the place where a sample's own prefix crosses the target.
template <Measure measure>
void choose_pivots(const Span &span, double wanted, double total, double &low, double &high) {
  double value[kSample], count[kSample];
  const std::size_t stride = span.size / kSample;
  double largest = 0;
  for (std::size_t j = 0; j < kSample; ++j) {
    const std::size_t i = j * stride + (j * 7) % stride;
    value[j] = span.value[i];
    count[j] = span.labels(i);
    largest = std::max(largest, value[j]);
  }
  const Span sample{value, count, kSample};
  const Totals all = sample.above(0.0);
  const double share = total > 0 ? wanted / total * amount<measure>(all) : 0;
  const double middle = level<measure>(sample, share, 0.0, largest);
  const double one = all.count / kSample; // labels of a typical sampled entry
  const double spread = kSpread * one * (measure == Measure::kSum ? middle : 1.0);
  high = share < spread ? kInfinity : level<measure>(sample, share - spread, middle, largest);
  low = level<measure>(sample, share + spread, 0.0, middle);
}

// Entries of value 0 change nothing and are never part of an answer. The totals of sums carry
// rounding error in the last bits; the caller allows for it.
template <Measure measure>
Cut find_cut(Span span, double target, double total, Scratch &scratch) {
  Totals above;
  double floor = 0.0, ceiling = kInfinity; // the active entries have floor < value <= ceiling
  int side = 0;
  bool stuck = false; // nothing was left out in the last round: many values may be equal
  // Values spread over hundreds of binades defeat halving; sorting then takes over.
  for (int round = 0; span.size > kSortBelow && round < 64; ++round, side ^= 1) {
    double low = floor, high = ceiling;
    if (span.size > kBisectBelow && !stuck) {
      choose_pivots<measure>(span, target - amount<measure>(above), total, low, high);
      low = std::min(std::max(low, floor), ceiling);
      high = std::max(std::min(high, ceiling), low);
    }
    // Few entries may make up most of a sum, and a sample then says nothing.
    if (!(floor < low && low < ceiling) && !(floor < high && high < ceiling)) {
      high = ceiling;
      if (stuck || high == kInfinity) high = *std::max_element(span.value, span.value + span.size);
      low = stuck ? std::nextafter(high, floor) : floor + (high - floor) / 2;
    }
    Totals over_low, over_high;
    const Span between = scratch.split(span, low, high, side, over_low, over_high);
    over_low = above + over_low, over_high = above + over_high;
    bool inside = false;
    if (amount<measure>(over_high) > target) {
      low = high, high = ceiling;
      total = amount<measure>(over_high - above);
    } else if (amount<measure>(over_low) > target) {
      total = amount<measure>(over_low - over_high);
      above = over_high;
      inside = true;
    } else {
      if (!(low > floor)) return {false, 0.0, over_low};
      total = std::max(total - amount<measure>(over_low - above), 0.0);
      above = over_low;
      high = low, low = floor;
    }
    if (inside && stuck) return {true, high, above}; // the largest values are all equal
    const std::size_t size = span.size;
    span = inside ? between : scratch.narrow(span, low, high, side);
    stuck = !stuck && span.size == size;
    floor = low, ceiling = high;
  }
  Cut cut{false, 0.0, above};
  const std::vector<Item> &items = scratch.ranked(span);
  for (std::size_t i = 0; i < items.size();) {
    const double value = items[i].value;
    double labels = 0;
    for (; i < items.size() && items[i].value == value; ++i) labels += items[i].count;
    if (!(value > 0)) break;
    const Totals next = cut.above + Totals{value * labels, labels};
    if (amount<measure>(next) > target) return {true, value, cut.above};
    cut.above = next;
  }
  return cut;
}

// --- correctly rounded sums -------------------------------------------------------------------

// Shewchuk's growing expansion: slow, exact, and correctly rounded at the end.
class ExactSum {
public:
  void add(double x) {
    std::size_t kept = 0;
    for (double y : parts_) {
      if (std::fabs(x) < std::fabs(y)) std::swap(x, y);
      const double high = x + y, low = y - (high - x);
      if (low != 0) parts_[kept++] = low;
      x = high;
    }
    parts_.resize(kept);
    parts_.push_back(x);
  }
  // Products of a double and a count below 2^53 fit two doubles.
  void add_product(double value, double count) {
    const double product = value * count;
    add(product);
    const double rest = std::fma(value, count, -product);
    if (rest != 0) add(rest);
  }
  double rounded() const {
    if (parts_.empty()) return 0.0;
    std::size_t i = parts_.size() - 1;
    double high = parts_[i], low = 0.0;
    while (i > 0 && low == 0) {
      const double x = high, y = parts_[--i];
      high = x + y;
      low = y - (high - x);
    }
    // Half way to the next double: what is left decides, not round-half-even.
    if (i > 0 && ((low < 0 && parts_[i - 1] < 0) || (low > 0 && parts_[i - 1] > 0))) {
      const double twice = low * 2, next = high + twice;
      if (twice == next - high) high = next;
    }
    return high;
  }

private:
  std::vector<double> parts_;
};

struct Pair {
  double high, low;
};

// Sum of count*value in twice the working precision, one expansion per lane. Values are cut in
// two halves of 26 and 27 bits, so that their products with counts below 2^26 are exact.
VECTORISED Pair sum_doubled(const double *value, const double *count, std::size_t n) {
  typedef std::int64_t Bits __attribute__((vector_size(kLanes * sizeof(double))));
  Lanes high = {}, low = {};
  const auto add = [&](const Lanes &x) __attribute__((always_inline)) {
    const Lanes sum = high + x, part = sum - high;
    low += (high - (sum - part)) + (x - part);
    high = sum;
  };
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const Lanes v = load(value + i);
    if (!count) {
      add(v);
      continue;
    }
    const Lanes c = load(count + i);
    const Lanes head = (Lanes)((Bits)v & ~((std::int64_t{1} << 27) - 1));
    add(head * c);
    add((v - head) * c);
  }
  Pair total{0.0, 0.0};
  const auto add_one = [&](double x) {
    const double sum = total.high + x, part = sum - total.high;
    total.low += (total.high - (sum - part)) + (x - part);
    total.high = sum;
  };
  for (std::size_t j = 0; j < kLanes; ++j) add_one(high[j]);
  for (std::size_t j = 0; j < kLanes; ++j) add_one(low[j]);
  for (; i < n; ++i) {
    std::uint64_t bits;
    std::memcpy(&bits, value + i, sizeof bits);
    bits &= ~((std::uint64_t{1} << 27) - 1);
    double head;
    std::memcpy(&head, &bits, sizeof bits);
    const double c = count ? count[i] : 1.0;
    add_one(head * c);
    add_one((value[i] - head) * c);
  }
  return total;
}

// The sum of count*value over the span plus extra*value_of_extra, correctly rounded.
double rounded_sum(const Span &span, double value, double extra) {
  constexpr double most_exact = 1 << 26;
  double largest = extra;
  if (span.count)
    for (std::size_t i = 0; i < span.size; ++i) largest = std::max(largest, span.count[i]);
  if (largest < most_exact) {
    const Pair body = sum_doubled(span.value, span.count, span.size);
    const Pair tail = sum_doubled(&value, &extra, 1);
    const double high = body.high + tail.high, part = high - body.high;
    const double low =
        ((body.high - (high - part)) + (tail.high - part)) + (body.low + tail.low);
    if (!std::isfinite(high)) return high == high ? high : kInfinity;
    // The low parts are themselves summed in doubles: at most terms^2 rounding errors of theirs.
    const double terms = 2.0 * static_cast<double>(span.size) + 32.0;
    const double error = terms * terms * kEpsilon * kEpsilon * high;
    const double least = high + (low - error), most = high + (low + error);
    if (least == most) return least;
  }
  ExactSum sum;
  for (std::size_t i = 0; i < span.size; ++i) sum.add_product(span.value[i], span.labels(i));
  sum.add_product(value, extra);
  return sum.rounded();
}

// --- the two questions ------------------------------------------------------------------------

// Where the `budget` most influential labels end. Above the cut all are taken, at it `tied`.
struct Choice {
  double cut, tied;
};

Choice choose(const Row &row, double budget, Scratch &scratch) {
  if (budget >= row.all.count) return {0.0, 0.0};
  const Cut cut = find_cut<Measure::kCount>(row.span, budget, row.all.count, scratch);
  return {cut.value, budget - cut.above.count};
}

// How far the chosen labels move the score.
double reach_of_choice(const Span &span, const Choice &choice, Scratch &scratch) {
  return rounded_sum(scratch.narrow(span, choice.cut, kInfinity, 0), choice.cut, choice.tied);
}

double reach_of_row(const Row &row, double budget, Scratch &scratch) {
  if (!(budget > 0)) return 0.0;
  return reach_of_choice(row.span, choose(row, budget, scratch), scratch);
}

// Which entries are chosen, and the sum of what is added to their labels. Returns how many.
std::size_t list_choice(const double *z, const Entries &e, double sign, const Span &span,
                        Choice choice, std::int64_t *index, double *amount) {
  std::size_t listed = 0;
  for (std::size_t i = 0; i < e.size; ++i) {
    if (!(span.value[i] >= choice.cut && span.value[i] > 0)) continue;
    double taken = span.labels(i);
    if (span.value[i] == choice.cut) {
      taken = std::min(taken, choice.tied);
      choice.tied -= taken;
    }
    if (!(taken > 0)) continue;
    index[listed] = static_cast<std::int64_t>(i);
    amount[listed++] = taken * (z[i] * sign >= 0 ? e.upper[i] : e.lower[i]);
  }
  return listed;
}

// The least number of labels whose reach exceeds a margin, that reach, and the one before it.
// Without such a number: infinity, nothing, and the reach of all labels.
struct Crossing {
  double count, before, after;
};

Crossing minimum_budget_canonical(const Row &row, double margin, Scratch &scratch) {
  double low = 1, high = row.all.count; // the answer, if any, lies between
  const double all = reach_of_row(row, high, scratch);
  if (!(all > margin)) return {kInfinity, all, 0.0};
  while (low < high) {
    const double middle = std::floor((low + high) / 2);
    if (reach_of_row(row, middle, scratch) > margin)
      high = middle;
    else
      low = middle + 1;
  }
  return {low, reach_of_row(row, low - 1, scratch), reach_of_row(row, low, scratch)};
}

// The reaches returned are plain sums where that is enough for the count: they err by less than
// `slack` times themselves.
Crossing minimum_budget_of_row(const Row &row, double margin, Scratch &scratch) {
  if (margin < 0) return {0.0, 0.0, 0.0};
  const Totals &all = row.all;
  // A sum of nonnegative doubles errs by less than (terms) * epsilon * sum in any order.
  const double slack = 4.0 * (static_cast<double>(row.span.size) + 8.0) * kEpsilon;
  if (all.sum + slack * all.sum < margin) return {kInfinity, all.sum, 0.0};
  const Cut cut = find_cut<Measure::kSum>(row.span, margin, all.sum, scratch);
  if (cut.found) {
    const double error = slack * (cut.above.sum + margin);
    const double ahead = std::floor((margin - cut.above.sum) / cut.value);
    // Both neighbours of the answer must be clear of the margin by more than the error.
    const double before = cut.above.sum + cut.value * ahead;
    const double after = cut.above.sum + cut.value * (ahead + 1);
    const bool clear = before + error < margin && after - error > margin;
    if (clear && ahead >= 0) return {cut.above.count + ahead + 1, before, after};
  }
  return minimum_budget_canonical(row, margin, scratch);
}

// Scratch outlives a call: a block of rows takes about a millisecond, and fresh pages for every
// block would cost as much as the selection itself. Large scratch is not kept.
class ScratchPool {
public:
  std::unique_ptr<Scratch> take(std::size_t d) {
    const std::lock_guard<std::mutex> guard(lock_);
    while (!idle_.empty()) {
      std::unique_ptr<Scratch> scratch = std::move(idle_.back());
      idle_.pop_back();
      if (scratch->size == d) return scratch;
    }
    return std::make_unique<Scratch>(d);
  }
  void give(std::unique_ptr<Scratch> scratch) {
    constexpr std::size_t most_doubles = 1 << 20, most_kept = 16;
    const std::lock_guard<std::mutex> guard(lock_);
    if (scratch->size <= most_doubles && idle_.size() < most_kept)
      idle_.push_back(std::move(scratch));
  }

private:
  std::mutex lock_;
  std::vector<std::unique_ptr<Scratch>> idle_;
};

ScratchPool scratch_pool;

template <class Work> void for_each_row(const Matrix &z, std::size_t d, Work work) {
  std::unique_ptr<Scratch> scratch = scratch_pool.take(d);
  for (std::size_t row = 0; row < z.shape(0); ++row) work(row, z.data() + row * d, *scratch);
  scratch_pool.give(std::move(scratch));
}

Entries entries_of(const Vector &lower, const Vector &upper, const Vector &n_lower,
                   const Vector &n_upper) {
  Entries e{lower.data(), upper.data(), n_lower.data(), n_upper.data(), lower.shape(0), true};
  for (std::size_t i = 0; i < e.size && e.unit; ++i)
    e.unit = (e.lower[i] < 0) == (e.n_lower[i] == 1) && (e.upper[i] > 0) == (e.n_upper[i] == 1);
  return e;
}

void reach(Matrix z, Vector lower, Vector upper, Vector n_lower, Vector n_upper, double budget,
           Output up, Output down) {
  const nb::gil_scoped_release release;
  const Entries e = entries_of(lower, upper, n_lower, n_upper);
  for_each_row(z, e.size, [&](std::size_t row, const double *influence, Scratch &scratch) {
    up.data()[row] = reach_of_row(scratch.fill_movable(influence, e, 1.0), budget, scratch);
    down.data()[row] = reach_of_row(scratch.fill_movable(influence, e, -1.0), budget, scratch);
  });
}

// Reach in one direction, and the labels that attain it: `length` entries of `index`, `amount`.
void extremes(Matrix z, Vector lower, Vector upper, Vector n_lower, Vector n_upper, double budget,
              double sign, Output reached, IndexMatrix index, OutputMatrix amount,
              IndexVector length) {
  const nb::gil_scoped_release release;
  const Entries e = entries_of(lower, upper, n_lower, n_upper);
  const std::size_t width = index.shape(1);
  for_each_row(z, e.size, [&](std::size_t row, const double *influence, Scratch &scratch) {
    const Row filled = scratch.fill(influence, e, sign);
    const Choice choice = choose(filled, budget, scratch);
    reached.data()[row] = reach_of_choice(filled.span, choice, scratch);
    length.data()[row] = static_cast<std::int64_t>(
        list_choice(influence, e, sign, filled.span, choice, index.data() + row * width,
                    amount.data() + row * width));
  });
}

void minimum_budget(Matrix z, Vector lower, Vector upper, Vector n_lower, Vector n_upper,
                    Vector margin_up, Vector margin_down, OutputMatrix count,
                    OutputMatrix before, OutputMatrix after) {
  const nb::gil_scoped_release release;
  const Entries e = entries_of(lower, upper, n_lower, n_upper);
  for_each_row(z, e.size, [&](std::size_t row, const double *influence, Scratch &scratch) {
    for (const std::size_t side : {0, 1}) {
      const double margin = (side == 0 ? margin_up : margin_down).data()[row];
      Crossing found{kInfinity, 0.0, 0.0};
      if (margin != kInfinity) // else this direction cannot matter
        found = minimum_budget_of_row(
            scratch.fill_movable(influence, e, side == 0 ? 1.0 : -1.0), margin, scratch);
      count.data()[2 * row + side] = found.count;
      before.data()[2 * row + side] = found.before;
      after.data()[2 * row + side] = found.after;
    }
  });
}

} // namespace

NB_MODULE(_selection, m) {
  m.doc() = "Compiled selection kernels; unswayed._core.selection_numpy is their twin.";
  m.def("reach", &reach);
  m.def("extremes", &extremes);
  m.def("minimum_budget", &minimum_budget);
}
