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
constexpr double kDeviations = 3;         // of the sample's sum: how sure a cut should be
constexpr std::size_t kPivotSample = 128; // pivots are read off a sample of this size
constexpr double kSpread = 6;             // sampled labels either side of the pivot
constexpr std::size_t kBisectBelow = 768; // below this, halving beats sampling
constexpr std::size_t kSortBelow = 24;    // below this, sorting beats halving

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

// One entry of a row in one direction.
UNSWAYED_INLINE Item item_at(const double *z, const Entries &e, std::size_t i, int direction) {
  const double s = z[i] * sign_of(direction), a = s * e.lower[i], b = s * e.upper[i];
  return {a > b ? a : b, e.unit ? 1.0 : s >= 0 ? e.n_upper[i] : e.n_lower[i]};
}

// Append the entries with value > cut to the spans of the directions asked for. `sparse`: few are
// expected, so it pays to look whether there is one at all.
template <bool unit, bool sparse, bool up, bool down>
void collect_as(const double *z, const Entries &e, const double *cut, Span *found) {
  const Lanes over = all(cut[kUp]), under = all(-cut[kDown]);
  std::size_t i = 0;
  for (; i + kStep <= e.size; i += kStep) {
    Effects moved[2];
    unsigned rises[2] = {0, 0}, falls[2] = {0, 0};
    for (std::size_t j = 0; j < 2; ++j) {
      moved[j] = effects(z, e, i + j * kLanes);
      if (up) rises[j] = above(moved[j].up, over);
      if (down) falls[j] = above(under, moved[j].fallen);
    }
    if (sparse && !(rises[0] | rises[1] | falls[0] | falls[1])) continue;
    for (std::size_t j = 0; j < 2; ++j) {
      const std::size_t at = i + j * kLanes;
      if (up && (!sparse || rises[j]))
        take(found[kUp], moved[j].up, labels_moving<unit>(e, at, moved[j].signs, kUp), rises[j]);
      if (down && (!sparse || falls[j]))
        take(found[kDown], -moved[j].fallen, labels_moving<unit>(e, at, moved[j].signs, kDown),
             falls[j]);
    }
  }
  for (; i < e.size; ++i)
    for (const int direction : {kUp, kDown}) {
      if (!(direction == kUp ? up : down)) continue;
      const Item item = item_at(z, e, i, direction);
      if (!(item.value > cut[direction])) continue;
      Span &span = found[direction];
      span.value[span.size] = item.value;
      if (span.count) span.count[span.size] = item.count;
      ++span.size;
    }
}

template <bool unit, bool sparse>
void collect_for(const double *z, const Entries &e, const double *cut, const bool *wanted,
                 Span *found) {
  if (wanted[kUp] && wanted[kDown])
    collect_as<unit, sparse, true, true>(z, e, cut, found);
  else if (wanted[kUp])
    collect_as<unit, sparse, true, false>(z, e, cut, found);
  else
    collect_as<unit, sparse, false, true>(z, e, cut, found);
}

// The entries of one row that exceed a cut in each direction wanted.
struct Candidates {
  Span span[2];
  double cut[2] = {0.0, 0.0};
  bool wanted[2];

  Candidates(bool up, bool down) : span{}, wanted{up, down} {}

  void collect(const double *z, const Entries &e, bool sparse, Scratch &scratch) {
    for (const int direction : {kUp, kDown})
      if (wanted[direction]) span[direction] = scratch.span(direction, e.unit);
    if (e.unit)
      sparse ? collect_for<true, true>(z, e, cut, wanted, span)
             : collect_for<true, false>(z, e, cut, wanted, span);
    else
      sparse ? collect_for<false, true>(z, e, cut, wanted, span)
             : collect_for<false, false>(z, e, cut, wanted, span);
    for (const int direction : {kUp, kDown})
      if (wanted[direction]) pad(span[direction]);
  }
};

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
Guess guess_cut(const Sample &sample, int direction, double wanted) {
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
    const bool enough = add_up(sum) - kDeviations * std::sqrt(add_up(squares)) > wanted;
    low = enough ? middle : low;
    high = enough ? high : middle;
    entries = enough ? add_up(larger) : entries;
  }
  return {low, entries};
}

// Choose the cuts of a row, so that the candidates hold at least `wanted` in each direction, as far
// as a sample tells, and collect them.
template <Measure measure>
void collect_enough(const double *z, const Entries &e, const double *wanted, Candidates &found,
                    Scratch &scratch) {
  bool sparse = false;
  if (e.size >= kWorthSampling) {
    const Sample sample(z, e);
    const double share = static_cast<double>(kSample) / static_cast<double>(e.size);
    sparse = true;
    for (const int direction : {kUp, kDown})
      if (found.wanted[direction]) {
        const Guess guess = guess_cut<measure>(sample, direction, wanted[direction] * share);
        found.cut[direction] = guess.cut;
        sparse = sparse && guess.entries < kSample / 8;
      }
  }
  found.collect(z, e, sparse, scratch);
}

// All entries that can do anything in one direction.
Span collect_all(const double *z, const Entries &e, int direction, Scratch &scratch) {
  Candidates every(direction == kUp, direction == kDown);
  every.collect(z, e, false, scratch);
  return every.span[direction];
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

// Entries of value 0 change nothing and are never part of an answer. The totals of sums carry
// rounding error in the last bits; the caller allows for it.
template <Measure measure>
Cut find_cut(Span span, double target, double total, Scratch &scratch) {
  const bool unit = !span.count;
  Totals above;
  double floor = 0.0, ceiling = kInfinity; // the active entries have floor < value <= ceiling
  int side = 2; // the two sides take turns, so that narrowing never writes over what it reads
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
    const Span between =
        split(span, low, high, scratch.span(side, unit), over_low, over_high);
    const double tied = (over_low - over_high).count;
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
      if (!(low > floor)) return {false, 0.0, 0.0, over_low};
      total = std::max(total - amount<measure>(over_low - above), 0.0);
      above = over_low;
      high = low, low = floor;
    }
    if (inside && stuck) return {true, high, tied, above}; // the largest values are all equal
    const std::size_t size = span.size;
    span = inside ? between : narrow(span, low, high, scratch.span(side, unit));
    stuck = !stuck && span.size == size;
    floor = low, ceiling = high;
  }
  Cut cut{false, 0.0, 0.0, above};
  const std::vector<Item> &items = ranked(span, scratch);
  for (std::size_t i = 0; i < items.size();) {
    const double value = items[i].value;
    double labels = 0;
    for (; i < items.size() && items[i].value == value; ++i) labels += items[i].count;
    if (!(value > 0)) break;
    const Totals next = cut.above + Totals{value * labels, labels};
    if (amount<measure>(next) > target) return {true, value, labels, cut.above};
    cut.above = next;
  }
  return cut;
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

// The choice in one direction, from candidates where they hold enough labels, else from all.
// `span` becomes what it was made from.
Choice choose_of_row(const double *z, const Entries &e, int direction, double budget,
                     const Candidates &found, Span &span, Scratch &scratch) {
  span = found.span[direction];
  double labels = totals(span, 0.0).count;
  if (labels < budget && found.cut[direction] > 0) {
    span = collect_all(z, e, direction, scratch);
    labels = totals(span, 0.0).count;
  }
  return choose(span, budget, labels, scratch);
}

double reach_of_row(const double *z, const Entries &e, int direction, double budget,
                    const Candidates &found, Scratch &scratch) {
  Span span;
  const Choice choice = choose_of_row(z, e, direction, budget, found, span, scratch);
  return Reach(span, e, choice.cut).with(choice.tied);
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

Crossing cross_row(const double *z, const Entries &e, int direction, double margin,
                   const Candidates &found, Scratch &scratch) {
  Crossing crossing;
  Span span = found.span[direction];
  double sum = totals(span, 0.0).sum;
  if (found.cut[direction] > 0) {
    if (sum > margin && cross(span, e, margin, sum, scratch, crossing)) return crossing;
    span = collect_all(z, e, direction, scratch);
    sum = totals(span, 0.0).sum;
  }
  const double every = Reach(span, e, 0.0).with(0.0);
  if (!(every > margin)) return {kInfinity, every, 0.0};
  if (cross(span, e, margin, sum, scratch, crossing)) return crossing;
  return bisect(span, e, margin, scratch);
}

// --- all rows ---------------------------------------------------------------------------------

void reach(const Rows &rows, const Entries &e, double budget, const Reached &out,
           Scratch &scratch) {
  const double wanted[2] = {budget, budget};
  for (std::size_t row = 0; row < rows.size; ++row) {
    const double *z = rows.z + row * e.size;
    out.up[row] = out.down[row] = 0.0;
    if (!(budget > 0)) continue;
    Candidates found(true, true);
    collect_enough<Measure::kCount>(z, e, wanted, found, scratch);
    out.up[row] = reach_of_row(z, e, kUp, budget, found, scratch);
    out.down[row] = reach_of_row(z, e, kDown, budget, found, scratch);
  }
}

void extremes(const Rows &rows, const Entries &e, double budget, double sign, const Listed &out,
              Scratch &scratch) {
  const int direction = sign > 0 ? kUp : kDown;
  const double wanted[2] = {budget, budget};
  for (std::size_t row = 0; row < rows.size; ++row) {
    const double *z = rows.z + row * e.size;
    out.reach[row] = 0.0;
    out.length[row] = 0;
    if (!(budget > 0)) continue;
    Candidates found(direction == kUp, direction == kDown);
    collect_enough<Measure::kCount>(z, e, wanted, found, scratch);
    Span span;
    const Choice choice = choose_of_row(z, e, direction, budget, found, span, scratch);
    out.reach[row] = Reach(span, e, choice.cut).with(choice.tied);
    out.length[row] = static_cast<std::int64_t>(list_choice(
        z, e, direction, choice, out.index + row * out.width, out.amount + row * out.width));
  }
}

void minimum_budget(const Rows &rows, const Entries &e, const Margins &margins,
                    const Crossed &out, Scratch &scratch) {
  for (std::size_t row = 0; row < rows.size; ++row) {
    const double *z = rows.z + row * e.size;
    const double margin[2] = {margins.up[row], margins.down[row]};
    // Towards an infinite margin nothing can matter; a negative one is crossed already.
    const auto open = [](double m) { return m >= 0 && m != kInfinity; };
    Candidates found(open(margin[kUp]), open(margin[kDown]));
    if (found.wanted[kUp] || found.wanted[kDown])
      collect_enough<Measure::kSum>(z, e, margin, found, scratch);
    for (const int direction : {kUp, kDown}) {
      Crossing crossing{kInfinity, 0.0, 0.0};
      if (margin[direction] < 0) crossing.count = 0.0;
      if (found.wanted[direction])
        crossing = cross_row(z, e, direction, margin[direction], found, scratch);
      out.count[2 * row + direction] = crossing.count;
      out.before[2 * row + direction] = crossing.before;
      out.after[2 * row + direction] = crossing.after;
    }
  }
}
