// Answers questions on standard input by paths that this machine's own module does not run: eight
// lanes without an instruction set (the shape of AVX-512), and, built for Arm, NEON.
//
// Arguments: the path, and "selection" or "tally". Input and output are all doubles.
//
// Selection. Input: entries, rows, budget; lower, upper, n_lower, n_upper; influence rows; margins
// upwards, downwards. Output: reaches up and down; counts, reaches before and after; and in each
// direction reaches, lengths, entries and amounts of the labels that attain them.
//
// Tally. Input: labels, rows, lines, bins; lower, upper; influence rows; row and sign of each line;
// thresholds; floors, ceilings. Output: counts, and sums in two parts; then, with room for all
// labels on every line: how many are collected, which, and their values.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "kernel/paths.hpp"

namespace unswayed {
namespace eight_lanes {
#define UNSWAYED_LANES 8
#include "kernel/selection.hpp"
#include "kernel/product.hpp"
#include "kernel/tally.hpp"
#undef UNSWAYED_LANES
} // namespace eight_lanes
} // namespace unswayed

namespace {

std::vector<double> take(std::size_t size) {
  std::vector<double> values(size);
  if (std::fread(values.data(), sizeof(double), size, stdin) != size) std::abort();
  return values;
}

void give(const std::vector<double> &values) {
  if (std::fwrite(values.data(), sizeof(double), values.size(), stdout) != values.size())
    std::abort();
}

void select(const unswayed::Path &path) {
  using namespace unswayed;
  const std::vector<double> sizes = take(3);
  const auto d = static_cast<std::size_t>(sizes[0]), n = static_cast<std::size_t>(sizes[1]);
  const std::vector<double> lower = take(d), upper = take(d), n_lower = take(d), n_upper = take(d);
  const std::vector<double> z = take(n * d), up = take(n), down = take(n);
  const Entries entries(lower.data(), upper.data(), n_lower.data(), n_upper.data(), d);
  const Rows rows{z.data(), n, d};
  Scratch scratch(d);
  std::vector<double> reach_up(n), reach_down(n), count(2 * n), before(2 * n), after(2 * n);
  path.reach(rows, entries, sizes[2], {reach_up.data(), reach_down.data()}, scratch);
  path.minimum_budget(rows, entries, {up.data(), down.data()},
                      {count.data(), before.data(), after.data()}, scratch);
  for (const auto &values : {reach_up, reach_down, count, before, after}) give(values);
  for (const double sign : {1.0, -1.0}) {
    std::vector<double> reached(n), amount(n * d);
    std::vector<std::int64_t> index(n * d), length(n);
    path.extremes(rows, entries, sizes[2], sign,
                  {reached.data(), index.data(), amount.data(), length.data(), d}, scratch);
    give(reached);
    give({length.begin(), length.end()});
    give({index.begin(), index.end()});
    give(amount);
  }
}

void tally(const unswayed::Path &path) {
  using namespace unswayed;
  const std::vector<double> sizes = take(4);
  const auto n = static_cast<std::size_t>(sizes[0]), rows = static_cast<std::size_t>(sizes[1]);
  const auto size = static_cast<std::size_t>(sizes[2]), bins = static_cast<std::size_t>(sizes[3]);
  const std::vector<double> lower = take(n), upper = take(n), z = take(rows * n);
  const std::vector<double> named = take(size), sign = take(size), threshold = take(size * bins);
  const std::vector<double> floor = take(size), ceiling = take(size);
  const std::vector<std::int64_t> row(named.begin(), named.end());
  const Labels labels{z.data(), lower.data(), upper.data(), n};
  const Lines lines{row.data(), sign.data(), size};
  std::vector<std::int64_t> count(size * bins), next(size), index(size * n);
  std::vector<double> high(size * bins), low(size * bins), value(size * n);
  path.tally(labels, lines, {threshold.data(), bins, count.data(), high.data(), low.data()});
  for (std::size_t line = 0; line < size; ++line) next[line] = static_cast<std::int64_t>(line * n);
  path.collect(labels, lines, {floor.data(), ceiling.data()},
               {next.data(), index.data(), value.data()});
  for (std::size_t line = 0; line < size; ++line) next[line] -= static_cast<std::int64_t>(line * n);
  give({count.begin(), count.end()});
  give(high);
  give(low);
  give({next.begin(), next.end()});
  give({index.begin(), index.end()});
  give(value);
}

} // namespace

int main(int, char **arguments) {
  std::vector<unswayed::Path> known = unswayed::paths();
  known.push_back(UNSWAYED_PATH(eight_lanes));
  for (const unswayed::Path &path : known)
    if (path.name == std::string(arguments[1])) {
      arguments[2] == std::string("tally") ? tally(path) : select(path);
      return 0;
    }
  return 1;
}
