// Influence rows of sparse training rows: out = weights · designᵀ, where most features are 0.
//
// Included once per path, inside its namespace (see paths.hpp), so there is no include guard.
//
// A dense product multiplies all those zeros. Here lanes run over the test rows, so that each
// feature of a training row that is not 0 costs one vector operation for several test rows. Sums
// run over the features in their order, whatever the block: a row alone has the same bits.

constexpr std::size_t kTurned = 16; // training rows whose sums are turned into columns at a time

// Sum up for `count` times kLanes test rows at once, in registers.
template <bool ones, std::size_t count>
UNSWAYED_INLINE void sum_features(const Sparse &design, std::size_t entry, const double *weights,
                                  std::size_t width, double *out) {
  Lanes sum[count];
  for (Lanes &each : sum) each = all(0.0);
  for (std::int64_t i = design.start[entry]; i < design.start[entry + 1]; ++i) {
    const double *from = weights + static_cast<std::size_t>(design.feature[i]) * width;
    for (std::size_t j = 0; j < count; ++j) {
      const Lanes weight = load(from + j * kLanes);
      sum[j] += ones ? weight : weight * all(design.value[i]);
    }
  }
  for (std::size_t j = 0; j < count; ++j) store(out + j * kLanes, sum[j]);
}

template <bool ones>
void product_as(const Sparse &design, const double *weights, std::size_t width, std::size_t rows,
                double *out) {
  constexpr std::size_t many = 8;
  const std::size_t stride = width + 4; // rows of a tile begin at different places of the cache
  std::vector<double> tile(kTurned * stride);
  for (std::size_t first = 0; first < design.size; first += kTurned) {
    const std::size_t size = std::min(kTurned, design.size - first);
    for (std::size_t e = 0; e < size; ++e) {
      double *sums = tile.data() + e * stride;
      std::size_t at = 0;
      for (; at + many * kLanes <= width; at += many * kLanes)
        sum_features<ones, many>(design, first + e, weights + at, width, sums + at);
      for (; at < width; at += kLanes)
        sum_features<ones, 1>(design, first + e, weights + at, width, sums + at);
    }
    for (std::size_t row = 0; row < rows; ++row) {
      double *to = out + row * design.size + first;
      for (std::size_t e = 0; e < size; ++e) to[e] = tile[e * stride + row];
    }
  }
}

// `weights` has a row per feature, `width` long: at least `rows`, and a multiple of kMostLanes.
void product(const Sparse &design, const double *weights, std::size_t width, std::size_t rows,
             double *out) {
  static_assert(kMostLanes % kLanes == 0, "rows of weights are whole lanes");
  design.ones ? product_as<true>(design, weights, width, rows, out)
              : product_as<false>(design, weights, width, rows, out);
}
