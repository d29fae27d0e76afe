// Answers questions on standard input by paths that this machine's own module does not run: eight
// lanes without an instruction set (the shape of AVX-512), and, built for Arm, NEON.
//
// Input, all doubles: entries, rows, budget; lower, upper, n_lower, n_upper; influence rows; margins
// upwards, downwards. Output, per path: reaches up and down; counts, reaches before and after; and
// in each direction reaches, lengths, entries and amounts of the labels that attain them.

#include <cstdio>
#include <cstdlib>
#include <string>

#include "kernel/paths.hpp"

namespace unswayed {
namespace eight_lanes {
#define UNSWAYED_LANES 8
#include "kernel/selection.hpp"
#include "kernel/product.hpp"
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

} // namespace

int main(int, char **arguments) {
  using namespace unswayed;
  std::vector<Path> known = paths();
  known.push_back({"eight lanes", eight_lanes::reach, eight_lanes::extremes,
                   eight_lanes::minimum_budget, eight_lanes::product});
  const std::vector<double> sizes = take(3);
  const auto d = static_cast<std::size_t>(sizes[0]), n = static_cast<std::size_t>(sizes[1]);
  const std::vector<double> lower = take(d), upper = take(d), n_lower = take(d), n_upper = take(d);
  const std::vector<double> z = take(n * d), up = take(n), down = take(n);
  const Entries entries(lower.data(), upper.data(), n_lower.data(), n_upper.data(), d);
  const Rows rows{z.data(), n};
  Scratch scratch(d);
  for (const Path &path : known) {
    if (path.name != std::string(arguments[1])) continue;
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
    return 0;
  }
  return 1;
}
