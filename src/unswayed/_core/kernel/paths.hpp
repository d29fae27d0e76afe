// Paths: the kernels once per instruction set, from one source, and which of them this machine has.
//
// Every path is the same text (selection.hpp, product.hpp, tally.hpp) compiled for other
// instructions, as Google's Highway does it. Highway itself cannot be had by `pip install`, and a
// copy of it is larger than unswayed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "exact_sum.hpp"
#include "problem.hpp"

#define UNSWAYED_INLINE static inline __attribute__((always_inline))
#define UNSWAYED_INLINE_LAMBDA __attribute__((always_inline))

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#ifdef __clang__
#define UNSWAYED_PRAGMA(text) _Pragma(#text)
#define UNSWAYED_BEGIN_TARGET(set) \
  UNSWAYED_PRAGMA(clang attribute push(__attribute__((target(set))), apply_to = function))
#define UNSWAYED_END_TARGET _Pragma("clang attribute pop")
#else
#define UNSWAYED_PRAGMA(text) _Pragma(#text)
#define UNSWAYED_BEGIN_TARGET(set) \
  _Pragma("GCC push_options") UNSWAYED_PRAGMA(GCC target(set))
#define UNSWAYED_END_TARGET _Pragma("GCC pop_options")
#endif

namespace unswayed {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kTiny = 4 * std::numeric_limits<double>::denorm_min();

namespace plain {
#define UNSWAYED_LANES 1
#include "selection.hpp"
#include "product.hpp"
#include "tally.hpp"
#undef UNSWAYED_LANES
} // namespace plain

#ifdef __x86_64__
// Which pair of 32-bit words goes where, to move the lanes of a 4-bit mask to the front.
alignas(32) constexpr std::uint32_t kCompress[16][8] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {2, 3, 0, 1, 4, 5, 6, 7},
    {0, 1, 2, 3, 4, 5, 6, 7}, {4, 5, 0, 1, 2, 3, 6, 7}, {0, 1, 4, 5, 2, 3, 6, 7},
    {2, 3, 4, 5, 0, 1, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7}, {6, 7, 0, 1, 2, 3, 4, 5},
    {0, 1, 6, 7, 2, 3, 4, 5}, {2, 3, 6, 7, 0, 1, 4, 5}, {0, 1, 2, 3, 6, 7, 4, 5},
    {4, 5, 6, 7, 0, 1, 2, 3}, {0, 1, 4, 5, 6, 7, 2, 3}, {2, 3, 4, 5, 6, 7, 0, 1},
    {0, 1, 2, 3, 4, 5, 6, 7}};

UNSWAYED_BEGIN_TARGET("avx2,popcnt,bmi")
namespace avx2 {
#define UNSWAYED_PATH_AVX2
#define UNSWAYED_LANES 4
#include "selection.hpp"
#include "product.hpp"
#include "tally.hpp"
#undef UNSWAYED_LANES
#undef UNSWAYED_PATH_AVX2
} // namespace avx2
UNSWAYED_END_TARGET

UNSWAYED_BEGIN_TARGET("avx512f,avx512dq,popcnt,bmi")
namespace avx512 {
#define UNSWAYED_PATH_AVX512
#define UNSWAYED_LANES 8
#include "selection.hpp"
#include "product.hpp"
#include "tally.hpp"
#undef UNSWAYED_LANES
#undef UNSWAYED_PATH_AVX512
} // namespace avx512
UNSWAYED_END_TARGET
#endif

#ifdef __aarch64__
namespace neon {
#define UNSWAYED_PATH_NEON
#define UNSWAYED_LANES 2
#include "selection.hpp"
#include "product.hpp"
#include "tally.hpp"
#undef UNSWAYED_LANES
#undef UNSWAYED_PATH_NEON
} // namespace neon
#endif

#define UNSWAYED_PATH(name)                                                                  \
  unswayed::Path {                                                                           \
    #name, unswayed::name::reach, unswayed::name::extremes, unswayed::name::minimum_budget,  \
        unswayed::name::product, unswayed::name::tally, unswayed::name::collect              \
  }

// What this machine has, the widest first.
inline std::vector<Path> paths() {
  std::vector<Path> found;
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi"))
    found.push_back(UNSWAYED_PATH(avx512));
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt") &&
      __builtin_cpu_supports("bmi"))
    found.push_back(UNSWAYED_PATH(avx2));
#endif
#ifdef __aarch64__
  found.push_back(UNSWAYED_PATH(neon));
#endif
  found.push_back(UNSWAYED_PATH(plain));
  return found;
}

} // namespace unswayed
