// ExactSum: a sum of doubles without rounding, rounded once at the end.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace unswayed {

// The upper 26 bits of a double's fraction, leaving 27: products of either with 26 bits are exact.
constexpr std::int64_t kUpperHalf = ~((std::int64_t{1} << 27) - 1);

inline std::int64_t bits_of(double x) {
  std::int64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

inline double double_of(std::int64_t bits) {
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

inline double upper_half(double x) { return double_of(bits_of(x) & kUpperHalf); }

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

} // namespace unswayed
