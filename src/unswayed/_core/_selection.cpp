// The kernels for Python: arrays in, arrays out, on the path that was chosen.
//
// Kernels are single-threaded and hold no GIL; callers run blocks of rows side by side.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <string>

#include "kernel/paths.hpp"

namespace nb = nanobind;

namespace {

using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// Columns of a larger matrix: the numbers of a row stand side by side, rows may be further apart.
using Columns = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OutputMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using IndexMatrix = nb::ndarray<std::int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using IndexVector = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Starts = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Features = nb::ndarray<const std::int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

const std::vector<unswayed::Path> available = unswayed::paths();
std::atomic<const unswayed::Path *> chosen{available.data()};
unswayed::ScratchPool pool;

std::vector<std::string> paths() {
  std::vector<std::string> names;
  for (const unswayed::Path &path : available) names.push_back(path.name);
  return names;
}

void use(const std::string &name) {
  for (const unswayed::Path &path : available)
    if (name == path.name) {
      chosen = &path;
      return;
    }
  throw nb::value_error("this machine has no such path");
}

template <class Work>
void select(const Columns &z, const Vector &lower, const Vector &upper, const Vector &n_lower,
            const Vector &n_upper, Work work) {
  if (z.shape(1) > 1 && z.stride(1) != 1)
    throw nb::value_error("the numbers of a row must stand side by side");
  const nb::gil_scoped_release release;
  const unswayed::Entries entries(lower.data(), upper.data(), n_lower.data(), n_upper.data(),
                                  lower.shape(0));
  std::unique_ptr<unswayed::Scratch> scratch = pool.take(entries.size);
  const unswayed::Rows rows{z.data(), z.shape(0), static_cast<std::size_t>(z.stride(0))};
  work(*chosen, rows, entries, *scratch);
  pool.give(std::move(scratch));
}

void reach(Columns z, Vector lower, Vector upper, Vector n_lower, Vector n_upper, double budget,
           Output up, Output down) {
  select(z, lower, upper, n_lower, n_upper,
         [&](const auto &path, const auto &rows, const auto &entries, auto &scratch) {
           path.reach(rows, entries, budget, {up.data(), down.data()}, scratch);
         });
}

// Reach in one direction, and the labels that attain it: `length` entries of `index`, `amount`.
void extremes(Columns z, Vector lower, Vector upper, Vector n_lower, Vector n_upper, double budget,
              double sign, Output reached, IndexMatrix index, OutputMatrix amount,
              IndexVector length) {
  select(z, lower, upper, n_lower, n_upper,
         [&](const auto &path, const auto &rows, const auto &entries, auto &scratch) {
           path.extremes(rows, entries, budget, sign,
                         {reached.data(), index.data(), amount.data(), length.data(),
                          index.shape(1)},
                         scratch);
         });
}

void minimum_budget(Columns z, Vector lower, Vector upper, Vector n_lower, Vector n_upper,
                    Vector margin_up, Vector margin_down, OutputMatrix count,
                    OutputMatrix before, OutputMatrix after) {
  select(z, lower, upper, n_lower, n_upper,
         [&](const auto &path, const auto &rows, const auto &entries, auto &scratch) {
           path.minimum_budget(rows, entries, {margin_up.data(), margin_down.data()},
                               {count.data(), before.data(), after.data()}, scratch);
         });
}

// out = weightsᵀ · designᵀ for the first rows of weightsᵀ; the design in compressed rows.
void product(Starts start, Features feature, Vector value, bool ones, Matrix weights,
             OutputMatrix out) {
  const nb::gil_scoped_release release;
  const unswayed::Sparse design{start.data(), feature.data(), value.data(), start.shape(0) - 1,
                                ones};
  (*chosen).product(design, weights.data(), weights.shape(1), out.shape(0), out.data());
}

// What a tally or a collection is made of, or an error if arrays do not belong together.
struct Question {
  unswayed::Labels labels;
  unswayed::Lines lines;

  Question(const Matrix &z, const Vector &lower, const Vector &upper, const Starts &row,
           const Vector &sign)
      : labels{z.data(), lower.data(), upper.data(), z.shape(1)},
        lines{row.data(), sign.data(), row.shape(0)} {
    bool fits = lower.shape(0) == z.shape(1) && upper.shape(0) == z.shape(1) &&
                sign.shape(0) == row.shape(0);
    for (std::size_t line = 0; line < lines.size; ++line)
      fits = fits && row.data()[line] >= 0 &&
             static_cast<std::size_t>(row.data()[line]) < z.shape(0);
    if (!fits) throw nb::value_error("rows, offsets and lines do not belong together");
  }
};

// Adds to `count`, `high` and `low`.
void tally(Matrix z, Vector lower, Vector upper, Starts row, Vector sign, Matrix threshold,
           IndexMatrix count, OutputMatrix high, OutputMatrix low) {
  const Question asked(z, lower, upper, row, sign);
  const auto fits = [&](const auto &each) {
    return each.shape(0) == asked.lines.size && each.shape(1) == threshold.shape(1);
  };
  if (!(threshold.shape(1) && fits(threshold) && fits(count) && fits(high) && fits(low)))
    throw nb::value_error("thresholds and tallies do not belong together");
  const nb::gil_scoped_release release;
  (*chosen).tally(
      asked.labels, asked.lines,
      {threshold.data(), threshold.shape(1), count.data(), high.data(), low.data()});
}

// Writes the values of a line to `index` and `value` from `next` on; there must be room.
void collect(Matrix z, Vector lower, Vector upper, Starts row, Vector sign, Vector floor,
             Vector ceiling, IndexVector next, IndexVector index, Output value) {
  const Question asked(z, lower, upper, row, sign);
  const nb::gil_scoped_release release;
  (*chosen).collect(asked.labels, asked.lines, {floor.data(), ceiling.data()},
                    {next.data(), index.data(), value.data()});
}

} // namespace

NB_MODULE(_selection, m) {
  m.doc() = "Compiled kernels; unswayed._core.selection_numpy and tally_numpy are their twins.";
  m.def("reach", &reach);
  m.def("extremes", &extremes);
  m.def("minimum_budget", &minimum_budget);
  m.def("product", &product);
  m.def("tally", &tally, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg().noconvert(), nb::arg().noconvert(), nb::arg().noconvert()); // no copies of these
  m.def("collect", &collect);
  m.attr("most_lanes") = unswayed::kMostLanes;
  m.def("paths", &paths, "Names of the paths that this machine has, the widest first.");
  m.def("path", [] { return std::string((*chosen).name); }, "Name of the path that is used.");
  m.def("use", &use, "Use a path from now on.");
}
