// Selection: what the k most influential labels can do to a score, and how many are needed.
//
// Included once per path, inside its namespace (see paths.hpp), so there is no include guard.
//
// Upwards, entry i moves the score by value_i = max(z_i*lower_i, z_i*upper_i) per label and holds
// count_i labels (n_upper where z_i >= 0, n_lower otherwise); downwards is the same at -z.
//
// Answers are defined without an order of summation: the reach of k labels is the correctly
// rounded sum of the k largest values, and the minimum budget is the least k whose reach exceeds
// the margin. The NumPy twin computes that literally. The kernels do not sort. A sample of the
// entries tells a value above which the answer probably lies; one pass over the row collects the
// entries above it, few as a rule, and the rest is done on those. Where the sample was wrong, the
// row is collected once more, with all entries that can do anything. Plain sums only suggest an
// answer: what is returned are correctly rounded sums, which prove it.

#include "lanes.hpp"

constexpr std::size_t kStep = 2 * kLanes; // spans are padded to whole steps
constexpr std::size_t kSample = 256;      // entries looked at to choose a cut
constexpr std::size_t kChunk = 8;         // of them side by side
constexpr std::size_t kWorthSampling = 4 * kSample;
constexpr double kLikely = 1.5;           // deviations of the sample's sum: how sure a cut is at
constexpr double kSure = 5;               // first, and where that was not enough
constexpr std::size_t kPivotSample = 128; // pivots are read off a sample of this size
constexpr double kSpread = 6;             // sampled labels either side of the pivot
constexpr std::size_t kBinBelow = 2048;   // below this, counting by bins beats sampling
constexpr std::size_t kBins = 128;
constexpr std::size_t kSortBelow = 16;    // below this, sorting beats counting
constexpr std::size_t kTile = 1024;       // entries whose offsets stay in the cache for a group
constexpr std::size_t kWord = 64;         // bits, one per entry
static_assert(kTile % kWord == 0 && kWord % kLanes == 0, "only the last tile has a rest");

enum Direction : int { kUp = 0, kDown = 1 };

UNSWAYED_INLINE double sign_of(int direction) { return direction == kUp ? 1.0 : -1.0; }

struct Totals {
  double sum = 0, count = 0;

  Totals operator+(const Totals &o) const { return {sum + o.sum, count + o.count}; }
  Totals operator-(const Totals &o) const { return {sum - o.sum, count - o.count}; }
};

UNSWAYED_INLINE void pad(Span &span) {
  for (std::size_t j = 0; j < kStep; ++j) {
    span.value[span.size + j] = 0.0;
    if (span.count) span.count[span.size + j] = 0.0;
  }
}

UNSWAYED_INLINE double labels_at(const Span &span, std::size_t i) {
  return span.count ? span.count[i] : 1.0;
}

UNSWAYED_INLINE void take(Span &span, const Lanes &value, const Lanes &count, unsigned keep) {
  if (span.count) put(span.count + span.size, count, keep);
  span.size += put(span.value + span.size, value, keep);
}

template <bool counted> Totals totals_above(const Span &span, double cut) {
  const Lanes zero = all(0.0), one = all(1.0), least = all(cut);
  Lanes sum[2] = {zero, zero}, labels[2] = {zero, zero};
  for (std::size_t i = 0; i < span.size; i += kStep)
    for (std::size_t j = 0; j < 2; ++j) {
      const Lanes v = load(span.value + i + j * kLanes);
      const Lanes c = counted ? load(span.count + i + j * kLanes) : one;
      const Lanes moved = v > least ? v : zero;
      sum[j] += counted ? moved * c : moved;
      labels[j] += v > least ? c : zero;
    }
  return {add_up(sum[0] + sum[1]), add_up(labels[0] + labels[1])};
}

// Sum of count*value and of count over the entries with value > cut.
Totals totals(const Span &span, double cut) {
  return span.count ? totals_above<true>(span, cut) : totals_above<false>(span, cut);
}

// --- candidates: the entries above a cut ------------------------------------------------------

// How far labels can move a score in the two directions: up = max(a, b), down = max(-a, -b).
struct Effects {
  Lanes signs, up, fallen; // fallen = -down
};

UNSWAYED_INLINE Effects effects(const double *z, const Entries &e, std::size_t i) {
  const Lanes s = load(z + i), a = s * load(e.lower + i), b = s * load(e.upper + i);
  return {s, a > b ? a : b, a < b ? a : b};
}

template <bool unit>
UNSWAYED_INLINE Lanes labels_moving(const Entries &e, std::size_t i, const Lanes &signs,
                                    int direction) {
  if (unit) return all(1.0);
  const Lanes up = load(e.n_upper + i), down = load(e.n_lower + i), zero = all(0.0);
  return direction == kUp ? (signs >= zero ? up : down) : (signs <= zero ? up : down);
}

// One entry of a row in both directions. Signs are as good as random: counts are chosen by bits,
// because a branch would be mispredicted every other time.
struct Items {
  Item up, down;
};

UNSWAYED_INLINE Items items_at(const double *z, const Entries &e, std::size_t i) {
  const double a = z[i] * e.lower[i], b = z[i] * e.upper[i];
  Items items{{std::max(a, b), 1.0}, {std::max(-a, -b), 1.0}};
  if (e.unit) return items;
  const std::int64_t negative = bits_of(z[i]) >> 63; // all bits are ones, or none
  const std::int64_t rises = bits_of(e.n_upper[i]), falls = bits_of(e.n_lower[i]);
  const std::int64_t exchanged = (rises ^ falls) & negative;
  items.up.count = double_of(rises ^ exchanged);
  items.down.count = double_of(falls ^ exchanged);
  return items;
}

UNSWAYED_INLINE Item item_at(const double *z, const Entries &e, std::size_t i, int direction) {
  const Items items = items_at(z, e, i);
  return direction == kUp ? items.up : items.down;
}

// The entries of one row that exceed a cut in each direction wanted.
struct Candidates {
  Span span[2] = {};
  double cut[2] = {0.0, 0.0};
  bool wanted[2] = {false, false};
  bool sparse = false; // few are expected, so it pays to look whether there is one at all

  // An influence that every candidate exceeds, if it moves the score by `step` for a unit.
  double least_influence(double step, bool up, bool down) const {
    const double least = std::min(up ? cut[kUp] : kInfinity, down ? cut[kDown] : kInfinity);
    // Rounding may have raised a product above the cut by half a unit in the last place.
    const double influence = least / step;
    return std::min(influence - influence * (4 * kEpsilon) - kTiny, kLargest);
  }
  // Start anew, in the memory of one row of a group.
  void clear(std::size_t row, bool unit, Scratch &scratch) {
    for (const int direction : {kUp, kDown})
      if (wanted[direction]) span[direction] = scratch.candidates(row, direction, unit);
  }
  void finish() {
    for (const int direction : {kUp, kDown})
      if (wanted[direction]) pad(span[direction]);
  }
};

// Append an entry if its value exceeds a cut. There must be room for one more than that.
UNSWAYED_INLINE void append_if(Span &span, const Item &item, double cut) {
  span.value[span.size] = item.value;
  if (span.count) span.count[span.size] = item.count;
  span.size += item.value > cut;
}

// Append the entries from `begin` to `end` with value > cut to the spans of the directions asked
// for. Vectors are moved as they come, whatever they hold, which is fastest where much is kept.
template <bool unit, bool up, bool down>
void collect_many(const double *z, const Entries &all_entries, std::size_t begin, std::size_t end,
                  Candidates &found) {
  const Entries e = all_entries; // copies: stores below may not alias them
  Span rising = found.span[kUp], falling = found.span[kDown];
  const Lanes over = all(found.cut[kUp]), under = all(-found.cut[kDown]);
  std::size_t i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    const Effects moved = effects(z, e, i);
    if (up)
      take(rising, moved.up, labels_moving<unit>(e, i, moved.signs, kUp), above(moved.up, over));
    if (down)
      take(falling, -moved.fallen, labels_moving<unit>(e, i, moved.signs, kDown),
           above(under, moved.fallen));
  }
  for (; i < end; ++i) {
    const Items items = items_at(z, e, i);
    if (up) append_if(rising, items.up, found.cut[kUp]);
    if (down) append_if(falling, items.down, found.cut[kDown]);
  }
  found.span[kUp] = rising, found.span[kDown] = falling;
}

// The same where little is kept: which entries these are is noted in words of 64 bits, which
// mispredicts no branch, and then they are looked at one by one. Where all steps are of one size,
// an influence too small for either direction tells without a look at the entry.
template <bool equal_steps, bool up, bool down>
void collect_few(const double *z, const Entries &all_entries, std::size_t begin, std::size_t end,
                 Candidates &found) {
  const Entries e = all_entries;
  Span rising = found.span[kUp], falling = found.span[kDown];
  const Lanes over = all(found.cut[kUp]), under = all(-found.cut[kDown]);
  const Lanes least = all(found.least_influence(e.step, up, down));
  const auto look = [&](std::size_t i) UNSWAYED_INLINE_LAMBDA {
    const Items items = items_at(z, e, i);
    if (up) append_if(rising, items.up, found.cut[kUp]);
    if (down) append_if(falling, items.down, found.cut[kDown]);
  };
  std::size_t i = begin;
  for (; i + kWord <= end; i += kWord) {
    std::uint64_t bits = 0;
    for (std::size_t j = 0; j < kWord; j += kLanes) {
      unsigned here = 0;
      if (equal_steps) {
        here = above(magnitude(load(z + i + j)), least);
      } else {
        const Effects moved = effects(z, e, i + j);
        if (up) here |= above(moved.up, over);
        if (down) here |= above(under, moved.fallen);
      }
      bits |= std::uint64_t{here} << j;
    }
    for (; bits; bits &= bits - 1) look(i + static_cast<std::size_t>(__builtin_ctzll(bits)));
  }
  for (; i < end; ++i) look(i);
  found.span[kUp] = rising, found.span[kDown] = falling;
}

template <bool up, bool down>
void collect_as(const double *z, const Entries &e, std::size_t begin, std::size_t end,
                Candidates &found) {
  if (found.sparse)
    up && down && e.step > 0 ? collect_few<true, up, down>(z, e, begin, end, found)
                             : collect_few<false, up, down>(z, e, begin, end, found);
  else if (e.unit)
    collect_many<true, up, down>(z, e, begin, end, found);
  else
    collect_many<false, up, down>(z, e, begin, end, found);
}

void collect_tile(const double *z, const Entries &e, std::size_t begin, std::size_t end,
                  Candidates &found) {
  if (found.wanted[kUp] && found.wanted[kDown])
    collect_as<true, true>(z, e, begin, end, found);
  else if (found.wanted[kUp])
    collect_as<true, false>(z, e, begin, end, found);
  else if (found.wanted[kDown])
    collect_as<false, true>(z, e, begin, end, found);
}

// --- a cut, guessed from a sample -------------------------------------------------------------

enum class Measure { kCount, kSum };

template <Measure measure> UNSWAYED_INLINE double amount(const Totals &t) {
  return measure == Measure::kCount ? t.count : t.sum;
}

struct Sample {
  double value[2][kSample], count[2][kSample];

  Sample(const double *z, const Entries &e) {
    e.unit ? draw<true>(z, e) : draw<false>(z, e);
  }

private:
  template <bool unit> void draw(const double *z, const Entries &e) {
    constexpr std::size_t chunks = kSample / kChunk;
    const std::size_t stride = e.size / chunks;
    for (std::size_t j = 0; j < chunks; ++j) {
      const std::size_t from = j * stride + (j * 7) % (stride - kChunk);
      for (std::size_t i = 0; i < kChunk; i += kLanes) {
        const Effects moved = effects(z, e, from + i);
        const std::size_t to = j * kChunk + i;
        store(value[kUp] + to, moved.up);
        store(value[kDown] + to, -moved.fallen);
        for (const int direction : {kUp, kDown})
          store(count[direction] + to, labels_moving<unit>(e, from + i, moved.signs, direction));
      }
    }
  }
};

// A value above which the sampled entries hold `wanted` or more, by some standard deviations, and
// how many of them exceed it.
struct Guess {
  double cut, entries;
};

template <Measure measure>
Guess guess_cut(const Sample &sample, int direction, double wanted, double deviations) {
  const double *value = sample.value[direction], *count = sample.count[direction];
  const Lanes zero = all(0.0), one = all(1.0);
  Lanes largest = zero;
  for (std::size_t i = 0; i < kSample; i += kLanes) {
    const Lanes v = load(value + i);
    largest = v > largest ? v : largest;
  }
  double low = 0.0, high = largest_of(largest), entries = kSample;
  for (int step = 0; step < 9; ++step) {
    const double middle = low + (high - low) / 2;
    const Lanes cut = all(middle);
    Lanes sum = zero, squares = zero, larger = zero;
    for (std::size_t i = 0; i < kSample; i += kLanes) {
      const Lanes v = load(value + i), c = load(count + i);
      const Lanes part = v > cut ? (measure == Measure::kCount ? c : c * v) : zero;
      sum += part;
      squares += part * part;
      larger += v > cut ? one : zero;
    }
    const bool enough = add_up(sum) - deviations * std::sqrt(add_up(squares)) > wanted;
    low = enough ? middle : low;
    high = enough ? high : middle;
    entries = enough ? add_up(larger) : entries;
  }
  return {low, entries};
}

// Choose the cuts of a row, so that the candidates hold at least `wanted` in each direction, as far
// as a sample tells.
template <Measure measure>
void choose_cuts(const double *z, const Entries &e, const double *wanted, double deviations,
                 Candidates &found) {
  if (e.size < kWorthSampling || !(found.wanted[kUp] || found.wanted[kDown])) return;
  const Sample sample(z, e);
  const double share = static_cast<double>(kSample) / static_cast<double>(e.size);
  found.sparse = true;
  for (const int direction : {kUp, kDown})
    if (found.wanted[direction]) {
      const Guess guess =
          guess_cut<measure>(sample, direction, wanted[direction] * share, deviations);
      found.cut[direction] = guess.cut;
      found.sparse = found.sparse && guess.entries < kSample / 6;
    }
}

// One row of a group, and what is asked of it.
struct Asked {
  const double *z;
  std::size_t at;    // its number in the group
  double wanted[2];  // of the measure
  Candidates found;
};

// Collect for a group of rows, tile by tile: what is known of the entries is read once for all.
void collect_group(const Entries &e, std::size_t size, Asked *rows, Scratch &scratch) {
  for (std::size_t at = 0; at < size; ++at) rows[at].found.clear(at, e.unit, scratch);
  for (std::size_t begin = 0; begin < e.size; begin += kTile)
    for (std::size_t at = 0; at < size; ++at)
      collect_tile(rows[at].z, e, begin, std::min(begin + kTile, e.size), rows[at].found);
  for (std::size_t at = 0; at < size; ++at) rows[at].found.finish();
}

// Collect a row's candidates in one direction anew, with a lower cut: first one that a sample holds
// to be sure, then none at all. False if they are all that can do anything already.
template <Measure measure>
bool collect_more(const Entries &e, int direction, Asked &row, Scratch &scratch) {
  const double before = row.found.cut[direction];
  if (!(before > 0)) return false;
  Candidates more;
  more.wanted[direction] = true;
  choose_cuts<measure>(row.z, e, row.wanted, kSure, more);
  if (!(more.cut[direction] < before)) more.cut[direction] = 0.0;
  more.sparse = more.sparse && more.cut[direction] > 0;
  more.clear(row.at, e.unit, scratch);
  collect_tile(row.z, e, 0, e.size, more);
  more.finish();
  row.found.span[direction] = more.span[direction];
  row.found.cut[direction] = more.cut[direction];
  return true;
}

// --- the place where a prefix crosses its target ----------------------------------------------

// Where a prefix of the entries, largest first, first exceeds a target.
struct Cut {
  bool found;
  double value; // the entries with this value take the prefix across
  double tied;  // labels that have this value
  Totals above; // totals of all entries with a larger value
};

// Keep the entries with low < value <= high, and find the totals above both ends.
Span split(const Span &in, double low, double high, Span out, Totals &over_low,
           Totals &over_high) {
  const Lanes zero = all(0.0), one = all(1.0), floor = all(low), ceiling = all(high);
  Lanes sum_low = zero, labels_low = zero, sum_high = zero, labels_high = zero;
  for (std::size_t i = 0; i < in.size; i += kLanes) {
    const Lanes v = load(in.value + i), c = in.count ? load(in.count + i) : one;
    const Lanes lows = v > floor ? v : zero, highs = v > ceiling ? v : zero;
    sum_low += in.count ? lows * c : lows;
    sum_high += in.count ? highs * c : highs;
    labels_low += v > floor ? c : zero;
    labels_high += v > ceiling ? c : zero;
    take(out, v, c, above(v, floor) & ~above(v, ceiling));
  }
  over_low = {add_up(sum_low), add_up(labels_low)};
  over_high = {add_up(sum_high), add_up(labels_high)};
  pad(out);
  return out;
}

Span narrow(const Span &in, double low, double high, Span out) {
  const Lanes one = all(1.0), floor = all(low), ceiling = all(high);
  for (std::size_t i = 0; i < in.size; i += kLanes) {
    const Lanes v = load(in.value + i), c = in.count ? load(in.count + i) : one;
    take(out, v, c, above(v, floor) & ~above(v, ceiling));
  }
  pad(out);
  return out;
}

// A value above which the span holds about `wanted`. Halving a vectorised total is cheaper than
// sorting: it mispredicts no branch.
template <Measure measure> double level(const Span &span, double wanted, double low, double high) {
  for (int step = 0; step < 12; ++step) {
    const double middle = low + (high - low) / 2;
    const bool below = amount<measure>(totals(span, middle)) > wanted;
    low = below ? middle : low;
    high = below ? high : middle;
  }
  return high;
}

// Two pivots around the place where a sample's own prefix crosses the target.
template <Measure measure>
void choose_pivots(const Span &span, double wanted, double total, double &low, double &high) {
  double value[kPivotSample + kStep], count[kPivotSample + kStep];
  const std::size_t stride = span.size / kPivotSample;
  double largest = 0;
  for (std::size_t j = 0; j < kPivotSample; ++j) {
    const std::size_t i = j * stride + (j * 7) % stride;
    value[j] = span.value[i];
    count[j] = labels_at(span, i);
    largest = std::max(largest, value[j]);
  }
  Span sample{value, count, kPivotSample};
  pad(sample);
  const Totals every = totals(sample, 0.0);
  const double share = total > 0 ? wanted / total * amount<measure>(every) : 0;
  const double middle = level<measure>(sample, share, 0.0, largest);
  const double one = every.count / kPivotSample; // labels of a typical sampled entry
  const double spread = kSpread * one * (measure == Measure::kSum ? middle : 1.0);
  high = share < spread ? kInfinity : level<measure>(sample, share - spread, middle, largest);
  low = level<measure>(sample, share + spread, 0.0, middle);
}

const std::vector<Item> &ranked(const Span &span, Scratch &scratch) {
  std::vector<Item> &items = scratch.items;
  items.clear();
  for (std::size_t i = 0; i < span.size; ++i)
    items.push_back({span.value[i], labels_at(span, i)});
  std::sort(items.begin(), items.end(),
            [](const Item &a, const Item &b) { return a.value > b.value; });
  return items;
}

struct Range {
  double low, high;
};

Range range_of(const Span &span) {
  Lanes low = all(kInfinity), high = all(0.0);
  std::size_t i = 0;
  for (; i + kLanes <= span.size; i += kLanes) {
    const Lanes v = load(span.value + i);
    low = v < low ? v : low;
    high = v > high ? v : high;
  }
  Range range{-largest_of(-low), largest_of(high)};
  for (; i < span.size; ++i) {
    range.low = std::min(range.low, span.value[i]);
    range.high = std::max(range.high, span.value[i]);
  }
  return range;
}

// Narrows entries down to those of the values among which a prefix crosses its target.
template <Measure measure> class Narrowing {
public:
  Narrowing(const Span &span, double target, double total, Scratch &scratch)
      : span_(span), target_(target), total_(total), scratch_(scratch) {}

  // Entries of value 0 change nothing and are never part of an answer. The totals of sums carry
  // rounding error in the last bits; the caller allows for it.
  Cut cut() {
    // Values spread over hundreds of binades defeat bins; sorting then takes over.
    for (int round = 0; span_.size > kSortBelow && round < 12; ++round) {
      const Range range = range_of(span_);
      if (range.low == range.high) return cut_of_equals(range.high);
      if (span_.size > kBinBelow && by_pivots(range)) continue;
      if (!by_bins(range)) break;
    }
    return missed_ ? Cut{false, 0.0, 0.0, above_} : cut_by_sorting();
  }

private:
  bool crosses(const Totals &prefix) const { return amount<measure>(prefix) > target_; }

  // The two outputs take turns, so that narrowing never writes over what it reads.
  Span output() { return scratch_.narrowed(turn_ ^= 1, !span_.count); }

  Cut cut_of_equals(double value) const {
    const double labels = totals(span_, 0.0).count;
    const Totals next = above_ + Totals{value * labels, labels};
    return crosses(next) ? Cut{true, value, labels, above_} : Cut{false, 0.0, 0.0, next};
  }

  // Keep what lies between two pivots, or on one side of both. False if that is everything.
  bool by_pivots(const Range &range) {
    double low, high;
    choose_pivots<measure>(span_, target_ - amount<measure>(above_), total_, low, high);
    high = std::max(high, low);
    if (!(range.low <= low && low < range.high) && !(range.low <= high && high < range.high))
      return false;
    Totals over_low, over_high;
    const Span between = split(span_, low, high, output(), over_low, over_high);
    over_low = above_ + over_low, over_high = above_ + over_high;
    if (crosses(over_high)) {
      total_ = amount<measure>(over_high - above_);
      span_ = narrow(span_, high, kInfinity, output());
    } else if (crosses(over_low)) {
      total_ = amount<measure>(over_low - over_high);
      above_ = over_high;
      span_ = between;
    } else {
      total_ = std::max(total_ - amount<measure>(over_low - above_), 0.0);
      above_ = over_low;
      span_ = narrow(span_, 0.0, low, output());
    }
    return true;
  }

  // Keep the bin in which the prefix crosses. False if nothing crosses, or bins cannot tell.
  bool by_bins(const Range &range) {
    const double low = range.low, scale = (kBins - 1) / (range.high - range.low);
    if (!(scale > 0 && scale < kInfinity)) return false;
    // Monotone, so that of two values the larger is never in the lower bin.
    const auto bin = [&](double value) UNSWAYED_INLINE_LAMBDA {
      return static_cast<std::size_t>(static_cast<std::int32_t>((value - low) * scale));
    };
    Totals bins[kBins];
    for (std::size_t i = 0; i < span_.size; ++i) {
      const double value = span_.value[i], labels = labels_at(span_, i);
      Totals &in = bins[bin(value)];
      in.sum += value * labels;
      in.count += labels;
    }
    for (std::size_t at = kBins; at-- > 0; above_ = above_ + bins[at])
      if (crosses(above_ + bins[at])) {
        total_ = amount<measure>(bins[at]);
        Span out = output();
        for (std::size_t i = 0; i < span_.size; ++i) {
          out.value[out.size] = span_.value[i];
          if (out.count) out.count[out.size] = span_.count[i];
          out.size += bin(span_.value[i]) == at;
        }
        pad(out);
        span_ = out;
        return true;
      }
    missed_ = true;
    return false;
  }

  Cut cut_by_sorting() const {
    Cut cut{false, 0.0, 0.0, above_};
    const std::vector<Item> &items = ranked(span_, scratch_);
    for (std::size_t i = 0; i < items.size();) {
      const double value = items[i].value;
      double labels = 0;
      for (; i < items.size() && items[i].value == value; ++i) labels += items[i].count;
      if (!(value > 0)) break;
      const Totals next = cut.above + Totals{value * labels, labels};
      if (crosses(next)) return {true, value, labels, cut.above};
      cut.above = next;
    }
    return cut;
  }

  Span span_;
  const double target_;
  double total_; // of the entries in the span
  Totals above_; // of the entries above all of these
  Scratch &scratch_;
  int turn_ = 0;
  bool missed_ = false;
};

template <Measure measure>
Cut find_cut(const Span &span, double target, double total, Scratch &scratch) {
  return Narrowing<measure>(span, target, total, scratch).cut();
}

// --- correctly rounded sums -------------------------------------------------------------------

struct Pair {
  double high, low;
};

UNSWAYED_INLINE void add_to(Pair &total, double x) {
  const double sum = total.high + x, part = sum - total.high;
  total.low += (total.high - (sum - part)) + (x - part);
  total.high = sum;
}

// Sum of count*value over the entries with value > cut in twice the working precision, one
// expansion per lane. Values are cut in two halves of 26 and 27 bits, so that their products with
// counts below 2^26 are exact.
template <bool counted> Pair sum_doubled(const Span &span, double cut) {
  const Lanes zero = all(0.0), least = all(cut);
  Lanes high[2] = {zero, zero}, low[2] = {zero, zero};
  const auto add = [&](const Lanes &x, std::size_t j) UNSWAYED_INLINE_LAMBDA {
    const Lanes sum = high[j] + x, part = sum - high[j];
    low[j] += (high[j] - (sum - part)) + (x - part);
    high[j] = sum;
  };
  for (std::size_t i = 0; i < span.size; i += kStep)
    for (std::size_t j = 0; j < 2; ++j) {
      const Lanes v = load(span.value + i + j * kLanes), x = v > least ? v : zero;
      if (!counted) {
        add(x, j);
        continue;
      }
      const Lanes c = load(span.count + i + j * kLanes), upper = head(x);
      add(upper * c, j);
      add((x - upper) * c, j);
    }
  Pair total{0.0, 0.0};
  double part[kLanes];
  for (const Lanes *lanes : {&high[0], &high[1], &low[0], &low[1]}) {
    store(part, *lanes);
    for (std::size_t j = 0; j < kLanes; ++j) add_to(total, part[j]);
  }
  return total;
}

// The sums of all labels with a value above a cut, plus some at it, correctly rounded.
class Reach {
public:
  Reach(const Span &span, const Entries &e, double cut)
      : span_(span), cut_(cut), exact_(e.most_labels < kMostExact) {
    if (exact_) body_ = span.count ? sum_doubled<true>(span, cut) : sum_doubled<false>(span, cut);
  }

  double with(double tied) const {
    if (exact_ && tied < kMostExact) {
      Pair total = body_;
      const double upper = upper_half(cut_);
      add_to(total, upper * tied);
      add_to(total, (cut_ - upper) * tied);
      if (!std::isfinite(total.high)) return kInfinity;
      // The low parts are themselves summed in doubles: at most terms^2 rounding errors of theirs.
      const double terms = 2.0 * static_cast<double>(span_.size) + 64.0;
      const double error = terms * terms * kEpsilon * kEpsilon * total.high;
      const double least = total.high + (total.low - error);
      if (least == total.high + (total.low + error)) return least;
    }
    ExactSum sum;
    for (std::size_t i = 0; i < span_.size; ++i)
      if (span_.value[i] > cut_) sum.add_product(span_.value[i], labels_at(span_, i));
    sum.add_product(cut_, tied);
    return sum.rounded();
  }

private:
  static constexpr double kMostExact = 1 << 26;
  const Span span_;
  const double cut_;
  const bool exact_;
  Pair body_{0.0, 0.0};
};

// --- the two questions ------------------------------------------------------------------------

// Where the `budget` most influential labels end. Above the cut all are taken, at it `tied`.
struct Choice {
  double cut, tied;
};

Choice choose(const Span &span, double budget, double labels, Scratch &scratch) {
  if (budget >= labels) return {0.0, 0.0};
  const Cut cut = find_cut<Measure::kCount>(span, budget, labels, scratch);
  return {cut.value, budget - cut.above.count};
}

// The same for a row in one direction, after collecting more candidates if they hold too few. As
// many as the budget are too few: the choice would end at 0, below entries that are no candidates.
Choice choose_of_row(const Entries &e, int direction, double budget, Asked &row,
                     Scratch &scratch) {
  double labels;
  do
    labels = totals(row.found.span[direction], 0.0).count;
  while (labels <= budget && collect_more<Measure::kCount>(e, direction, row, scratch));
  return choose(row.found.span[direction], budget, labels, scratch);
}

// Which entries are chosen, and the sum of what is added to their labels. Returns how many.
std::size_t list_choice(const double *z, const Entries &e, int direction, Choice choice,
                        std::int64_t *index, double *amount) {
  const double least = choice.cut > 0 ? std::nextafter(choice.cut, 0.0) : 0.0;
  const Lanes floor = all(least), ceiling = all(-least);
  std::size_t listed = 0, i = 0;
  const auto list = [&](std::size_t at) {
    const Item item = item_at(z, e, at, direction);
    double taken = item.count;
    if (item.value == choice.cut) {
      taken = std::min(taken, choice.tied);
      choice.tied -= taken;
    }
    if (!(taken > 0)) return;
    index[listed] = static_cast<std::int64_t>(at);
    amount[listed++] = taken * (z[at] * sign_of(direction) >= 0 ? e.upper[at] : e.lower[at]);
  };
  for (; i + kLanes <= e.size; i += kLanes) {
    const Effects moved = effects(z, e, i);
    unsigned chosen = direction == kUp ? above(moved.up, floor) : above(ceiling, moved.fallen);
    for (; chosen; chosen &= chosen - 1)
      list(i + static_cast<std::size_t>(__builtin_ctz(chosen)));
  }
  for (; i < e.size; ++i)
    if (item_at(z, e, i, direction).value > least) list(i);
  return listed;
}

// The least number of labels whose reach exceeds a margin, that reach, and the one before it.
// Without such a number: infinity, the reach of all labels, and nothing.
struct Crossing {
  double count, before, after;
};

// The crossing that plain sums suggest; whether correctly rounded sums prove it.
bool cross(const Span &span, const Entries &e, double margin, double sum, Scratch &scratch,
           Crossing &found) {
  const Cut cut = find_cut<Measure::kSum>(span, margin, sum, scratch);
  if (!cut.found) return false;
  const double ahead = std::floor((margin - cut.above.sum) / cut.value);
  if (!(ahead >= 0 && ahead < cut.tied)) return false;
  const Reach reach(span, e, cut.value);
  found = {cut.above.count + ahead + 1, reach.with(ahead), reach.with(ahead + 1)};
  return found.before <= margin && found.after > margin;
}

// By bisection over correctly rounded reaches: for sums that rounding leaves open.
Crossing bisect(const Span &span, const Entries &e, double margin, Scratch &scratch) {
  const double labels = totals(span, 0.0).count;
  const auto reach = [&](double budget) {
    const Choice choice = choose(span, budget, labels, scratch);
    return Reach(span, e, choice.cut).with(choice.tied);
  };
  double low = 1, high = labels; // the answer lies between
  while (low < high) {
    const double middle = std::floor((low + high) / 2);
    if (reach(middle) > margin)
      high = middle;
    else
      low = middle + 1;
  }
  return {low, low > 1 ? reach(low - 1) : 0.0, reach(low)};
}

Crossing cross_row(const Entries &e, int direction, double margin, Asked &row, Scratch &scratch) {
  Crossing crossing;
  const Span &span = row.found.span[direction];
  double sum = totals(span, 0.0).sum;
  while (row.found.cut[direction] > 0) {
    if (sum > margin && cross(span, e, margin, sum, scratch, crossing)) return crossing;
    collect_more<Measure::kSum>(e, direction, row, scratch);
    sum = totals(span, 0.0).sum;
  }
  const double every = Reach(span, e, 0.0).with(0.0);
  if (!(every > margin)) return {kInfinity, every, 0.0};
  if (cross(span, e, margin, sum, scratch, crossing)) return crossing;
  return bisect(span, e, margin, scratch);
}

// --- all rows ---------------------------------------------------------------------------------

// Call work(number of the row, what was asked and found) for every row. `aim` says for a row which
// directions are wanted, and how much of the measure in each.
template <Measure measure, class Aim, class Work>
void for_each_row(const Rows &rows, const Entries &e, Scratch &scratch, Aim aim, Work work) {
  for (std::size_t first = 0; first < rows.size; first += scratch.group) {
    const std::size_t size = std::min(scratch.group, rows.size - first);
    Asked group[Scratch::kMostRows];
    for (std::size_t at = 0; at < size; ++at) {
      Asked &row = group[at];
      row.z = rows.z + (first + at) * rows.stride;
      row.at = at;
      aim(first + at, row.found.wanted, row.wanted);
      choose_cuts<measure>(row.z, e, row.wanted, kLikely, row.found);
    }
    collect_group(e, size, group, scratch);
    for (std::size_t at = 0; at < size; ++at) work(first + at, group[at]);
  }
}

void reach(const Rows &rows, const Entries &e, double budget, const Reached &out,
           Scratch &scratch) {
  for_each_row<Measure::kCount>(
      rows, e, scratch,
      [&](std::size_t, bool *directions, double *wanted) {
        directions[kUp] = directions[kDown] = budget > 0;
        wanted[kUp] = wanted[kDown] = budget;
      },
      [&](std::size_t number, Asked &row) {
        double *reached[2] = {out.up + number, out.down + number};
        for (const int direction : {kUp, kDown}) {
          *reached[direction] = 0.0;
          if (!row.found.wanted[direction]) continue;
          const Choice choice = choose_of_row(e, direction, budget, row, scratch);
          *reached[direction] = Reach(row.found.span[direction], e, choice.cut).with(choice.tied);
        }
      });
}

void extremes(const Rows &rows, const Entries &e, double budget, double sign, const Listed &out,
              Scratch &scratch) {
  const int direction = sign > 0 ? kUp : kDown;
  for_each_row<Measure::kCount>(
      rows, e, scratch,
      [&](std::size_t, bool *directions, double *wanted) {
        directions[direction] = budget > 0;
        wanted[direction] = budget;
      },
      [&](std::size_t number, Asked &row) {
        out.reach[number] = 0.0;
        out.length[number] = 0;
        if (!row.found.wanted[direction]) return;
        const Choice choice = choose_of_row(e, direction, budget, row, scratch);
        out.reach[number] = Reach(row.found.span[direction], e, choice.cut).with(choice.tied);
        out.length[number] = static_cast<std::int64_t>(
            list_choice(row.z, e, direction, choice, out.index + number * out.width,
                        out.amount + number * out.width));
      });
}

void minimum_budget(const Rows &rows, const Entries &e, const Margins &margins,
                    const Crossed &out, Scratch &scratch) {
  for_each_row<Measure::kSum>(
      rows, e, scratch,
      [&](std::size_t number, bool *directions, double *wanted) {
        wanted[kUp] = margins.up[number], wanted[kDown] = margins.down[number];
        // Towards an infinite margin nothing can matter; a negative one is crossed already.
        for (const int direction : {kUp, kDown})
          directions[direction] = wanted[direction] >= 0 && wanted[direction] != kInfinity;
      },
      [&](std::size_t number, Asked &row) {
        for (const int direction : {kUp, kDown}) {
          const double margin = row.wanted[direction];
          Crossing crossing{kInfinity, 0.0, 0.0};
          if (margin < 0) crossing.count = 0.0;
          if (row.found.wanted[direction])
            crossing = cross_row(e, direction, margin, row, scratch);
          out.count[2 * number + direction] = crossing.count;
          out.before[2 * number + direction] = crossing.before;
          out.after[2 * number + direction] = crossing.after;
        }
      });
}
