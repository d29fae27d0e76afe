// What the kernels are asked: influence rows over entries, in plain arrays.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace unswayed {

// The label changes that are allowed. Entry i stands for equal training rows: n_upper[i] of them
// may rise by upper[i] >= 0, n_lower[i] may fall by lower[i] <= 0.
struct Entries {
  const double *lower, *upper, *n_lower, *n_upper;
  std::size_t size;
  bool unit;         // every label that may move stands alone: counts need not be read
  double most_labels; // largest count of an entry
  double step;        // by which every label that moves moves, either way; 0 if they differ

  Entries(const double *lower, const double *upper, const double *n_lower, const double *n_upper,
          std::size_t size)
      : lower(lower), upper(upper), n_lower(n_lower), n_upper(n_upper), size(size), unit(true),
        most_labels(0), step(0) {
    bool equal = true;
    for (std::size_t i = 0; i < size; ++i) {
      unit = unit && (lower[i] < 0) == (n_lower[i] == 1) && (upper[i] > 0) == (n_upper[i] == 1);
      most_labels = std::max(most_labels, std::max(n_lower[i], n_upper[i]));
      for (const double each : {-lower[i], upper[i]})
        if (each > 0) {
          equal = equal && (step == 0 || step == each);
          step = each;
        }
    }
    step = equal ? step : 0;
  }
};

// Influence rows z, `size` of them, each as long as there are entries; `stride` from one to the next.
struct Rows {
  const double *z;
  std::size_t size, stride;
};

struct Reached {
  double *up, *down; // one per row
};

// Of each row the entries that move: the first `length` of `width` columns.
struct Listed {
  double *reach;
  std::int64_t *index;
  double *amount;
  std::int64_t *length;
  std::size_t width;
};

struct Margins {
  const double *up, *down;
};

// Two columns: upwards, downwards.
struct Crossed {
  double *count, *before, *after;
};

// Values, and counts unless every count is 1, followed by zeros up to a whole number of lanes.
struct Span {
  double *value, *count; // count is null for units
  std::size_t size;
};

struct Item {
  double value, count;
};

// Uninitialised, so that pages nobody needs are never touched. Buffers start at different
// offsets within a page: equal ones make stores look like they alias later loads.
class Buffer {
public:
  Buffer(std::size_t size, std::size_t slot)
      : store_(new double[size + kPadding + 80 * (slot + 1)]),
        start_(store_.get() + 80 * slot + 40) {}
  double *data() { return start_; }

private:
  static constexpr std::size_t kPadding = 32;
  std::unique_ptr<double[]> store_;
  double *start_;
};

// Memory for one thread that works on rows over `size` entries, several rows at a time.
struct Scratch {
  static constexpr std::size_t kMostRows = 8;

  const std::size_t size, group; // entries of a row, rows that are worked on together
  std::vector<Item> items;

  explicit Scratch(std::size_t size) : size(size), group(size <= kLarge ? kMostRows : 1) {
    for (std::size_t slot = 0; slot < 4 * (group + 1); ++slot) buffers_.emplace_back(size, slot);
  }

  // The candidates of a row of the group, upwards (0) or downwards (1).
  Span candidates(std::size_t row, int direction, bool unit) {
    return span(2 * row + static_cast<std::size_t>(direction), unit);
  }
  // One of two spans that take turns.
  Span narrowed(int turn, bool unit) { return candidates(group, turn, unit); }

private:
  static constexpr std::size_t kLarge = std::size_t{1} << 20;
  Span span(std::size_t number, bool unit) {
    return {buffers_[2 * number].data(), unit ? nullptr : buffers_[2 * number + 1].data(), 0};
  }
  std::vector<Buffer> buffers_;
};

// Scratch outlives a call: a block of rows takes about a millisecond, and fresh pages for every
// block would cost as much as the selection itself. Large scratch is not kept.
class ScratchPool {
public:
  std::unique_ptr<Scratch> take(std::size_t size) {
    const std::lock_guard<std::mutex> guard(lock_);
    while (!idle_.empty()) {
      std::unique_ptr<Scratch> scratch = std::move(idle_.back());
      idle_.pop_back();
      if (scratch->size == size) return scratch;
    }
    return std::make_unique<Scratch>(size);
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

// Training rows, most of whose features are 0: those of row i that are not stand from start[i] to
// start[i + 1].
struct Sparse {
  const std::int64_t *start;
  const std::int32_t *feature;
  const double *value;
  std::size_t size;
  bool ones; // every value is 1
};

// Influence rows z over training labels, each of which may move by lower[i] <= 0 to upper[i] >= 0.
struct Labels {
  const double *z, *lower, *upper;
  std::size_t size; // of a row
};

// Rows of influence, each looked at in one direction: sign 1 for what raises the score, -1 for what
// lowers it.
struct Lines {
  const std::int64_t *row;
  const double *sign;
  std::size_t size;
};

// Of each line `size` ascending thresholds, and what lies above each but not above the next: how
// many values, and their sum as two doubles.
struct Bins {
  const double *threshold;
  std::size_t size;
  std::int64_t *count;
  double *high, *low;
};

struct Bounds {
  const double *floor, *ceiling; // one per line
};

// Labels and their values, line after line, and per line where the next is to be written.
struct Lists {
  std::int64_t *next, *index;
  double *value;
};

constexpr std::size_t kMostLanes = 8; // of any path

// The kernels of one path.
struct Path {
  const char *name;
  void (*reach)(const Rows &, const Entries &, double budget, const Reached &, Scratch &);
  void (*extremes)(const Rows &, const Entries &, double budget, double sign, const Listed &,
                   Scratch &);
  void (*minimum_budget)(const Rows &, const Entries &, const Margins &, const Crossed &,
                         Scratch &);
  void (*product)(const Sparse &, const double *weights, std::size_t width, std::size_t rows,
                  double *out);
  void (*tally)(const Labels &, const Lines &, const Bins &);
  void (*collect)(const Labels &, const Lines &, const Bounds &, const Lists &);
};

} // namespace unswayed
