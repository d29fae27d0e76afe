// Tallies: how many values of a line lie between thresholds, and their sums; and the values
// themselves between two bounds. For training labels that come in pieces.
//
// Included once per path, inside its namespace (see paths.hpp), so there is no include guard.
//
// On a line, label i moves the score by value_i = max(s*z_i*lower_i, s*z_i*upper_i), where z is an
// influence row and s the line's sign; it is NaN, and never counted, where either product is. Few
// values exceed a line's lowest threshold. Which they are is noted in words of 64 bits, as in
// selection.hpp; they are then looked at one by one. Lines take turns at a tile of labels, whose
// offsets stay in the cache. Values are added in the order of the labels, so that every path
// returns the same bits.

// The offsets of some labels.
struct Offsets {
  const double *lower, *upper;
  std::size_t size;
  double most; // the largest by which one of them may move, either way
  bool equal;  // all that move at all move by that

  Offsets(const double *lower, const double *upper, std::size_t size)
      : lower(lower), upper(upper), size(size), most(0), equal(true) {
    const Lanes zero = all(0.0);
    Lanes largest = zero;
    each([&](const Lanes &offset) UNSWAYED_INLINE_LAMBDA {
      largest = offset > largest ? offset : largest;
    });
    most = largest_of(largest);
    const Lanes whole = all(most);
    unsigned between = 0;
    each([&](const Lanes &offset) UNSWAYED_INLINE_LAMBDA {
      const Lanes rest = whole - offset;
      between |= above(offset < rest ? offset : rest, zero);
    });
    equal = !between && most < kInfinity;
  }

private:
  // Show all offsets, without their signs.
  template <class Look> UNSWAYED_INLINE_LAMBDA void each(const Look &look) const {
    std::size_t i = 0;
    for (; i + kLanes <= size; i += kLanes) look(-load(lower + i)), look(load(upper + i));
    for (; i < size; ++i) look(all(-lower[i])), look(all(upper[i]));
  }
};

constexpr std::size_t kLongTile = 4 * kTile; // fewer visits to the thresholds of a line
constexpr std::size_t kFew = 4;              // labels of a word that are noted without a branch

// The values above a cut among the labels of a tile, in order, and which labels these are.
struct Found {
  std::size_t size;
  std::uint32_t index[kLongTile + kWord];
  double value[kLongTile + kWord];
};

// Where all offsets are of one size, an influence too small for it tells without a look at them:
// rounding is monotone, so no product exceeds that of the magnitudes.
template <bool equal>
UNSWAYED_INLINE std::uint64_t word_above(const double *z, const Offsets &offsets, std::size_t i,
                                         const Lanes &sign, const Lanes &most, const Lanes &cut) {
  std::uint64_t bits = 0;
  for (std::size_t j = 0; j < kWord; j += kLanes) {
    const Lanes influence = load(z + i + j);
    Lanes moved;
    if (equal) {
      moved = magnitude(influence) * most;
    } else {
      const Lanes signs = sign * influence;
      const Lanes a = signs * load(offsets.lower + i + j), b = signs * load(offsets.upper + i + j);
      moved = a > b ? a : b; // b where a is NaN: looked at, and then not kept
    }
    bits |= std::uint64_t{above(moved, cut)} << j;
  }
  return bits;
}

// Note which labels of a word have their bit set, from `to` on; return how many. Most words have
// few, and how many is as good as random: a loop would mispredict its end.
UNSWAYED_INLINE std::size_t note(std::uint64_t bits, std::size_t first, std::uint32_t *to) {
  constexpr std::uint64_t last = std::uint64_t{1} << (kWord - 1); // there is always a bit to find
  const auto size = static_cast<std::size_t>(__builtin_popcountll(bits));
  const auto next = [&](std::size_t j) UNSWAYED_INLINE_LAMBDA {
    to[j] = static_cast<std::uint32_t>(first) +
            static_cast<std::uint32_t>(__builtin_ctzll(bits | last));
    bits &= bits - 1;
  };
  for (std::size_t j = 0; j < kFew; ++j) next(j);
  for (std::size_t j = kFew; j < size; ++j) next(j);
  return size;
}

template <bool equal>
void find_as(const double *z, const Offsets &offsets, double sign, double cut, Found &found) {
  const Lanes signs = all(sign), most = all(offsets.most), least = all(cut);
  std::size_t noted = 0, i = 0;
  for (; i + kWord <= offsets.size; i += kWord)
    noted += note(word_above<equal>(z, offsets, i, signs, most, least), i, found.index + noted);
  for (; i < offsets.size; ++i) found.index[noted++] = static_cast<std::uint32_t>(i);
  std::size_t size = 0;
  for (std::size_t j = 0; j < noted; ++j) {
    const std::uint32_t at = found.index[j];
    const double influence = sign * z[at];
    const double a = influence * offsets.lower[at], b = influence * offsets.upper[at];
    const double value = a > b ? a : b;
    found.value[size] = value;
    found.index[size] = at;
    size += (value > cut) & (a == a);
  }
  found.size = size;
}

// Show the values above each line's cut, tile by tile: look(line, first label of the tile, found).
template <class Cut, class Look>
void find_all(const Labels &labels, const Lines &lines, const Cut &cut, const Look &look) {
  Found found{}; // defined throughout: bins are searched for beyond the last value
  for (std::size_t begin = 0; begin < labels.size; begin += kLongTile) {
    const Offsets offsets(labels.lower + begin, labels.upper + begin,
                          std::min(kLongTile, labels.size - begin));
    for (std::size_t line = 0; line < lines.size; ++line) {
      const double *z = labels.z + static_cast<std::size_t>(lines.row[line]) * labels.size + begin;
      offsets.equal ? find_as<true>(z, offsets, lines.sign[line], cut(line), found)
                    : find_as<false>(z, offsets, lines.sign[line], cut(line), found);
      look(line, begin, found);
    }
  }
}

constexpr std::size_t kTogether = 8; // values whose bins are searched for side by side

// For each value, all of which exceed the first threshold, the last threshold that it exceeds.
// Halving steps do not depend on the values: there is no branch to mispredict, and several values
// take them side by side, as each would wait for its own step before.
UNSWAYED_INLINE void find_bins(const double *value, const double *threshold, std::size_t size,
                               std::size_t *bin) {
  for (std::size_t j = 0; j < kTogether; ++j) bin[j] = 0;
  while (size > 1) {
    const std::size_t half = size / 2;
    for (std::size_t j = 0; j < kTogether; ++j) {
      std::size_t below = threshold[bin[j] + half] < value[j];
      __asm__("" : "+r"(below)); // or the compiler makes a branch of it
      bin[j] += half & -below;
    }
    size -= half;
  }
}

// Add a value to a sum of two doubles; tally_numpy.joined bounds the error.
UNSWAYED_INLINE void join(double value, double &high, double &low) {
  const double larger = std::max(high, value), smaller = std::min(high, value);
  const double sum = larger + smaller;
  const double rest = (smaller - (sum - larger)) + low;
  const double rounded = sum + rest;
  low = rounded < kInfinity ? rest - (rounded - sum) : 0.0;
  high = rounded < kInfinity ? rounded : kInfinity; // not NaN, which infinity - infinity is
}

void tally(const Labels &labels, const Lines &lines, const Bins &bins) {
  const std::size_t width = bins.size;
  find_all(
      labels, lines, [&](std::size_t line) { return bins.threshold[line * width]; },
      [&](std::size_t line, std::size_t, const Found &found) {
        const std::size_t first = line * width;
        for (std::size_t j = 0; j < found.size; j += kTogether) {
          std::size_t bin[kTogether];
          find_bins(found.value + j, bins.threshold + first, width, bin);
          for (std::size_t i = 0; i < std::min(kTogether, found.size - j); ++i) {
            const std::size_t at = first + bin[i];
            ++bins.count[at];
            join(found.value[j + i], bins.high[at], bins.low[at]);
          }
        }
      });
}

// Lists have room for all values above a line's floor and not above its ceiling: those of a line
// from next[line] on, which moves with them.
void collect(const Labels &labels, const Lines &lines, const Bounds &bounds, const Lists &lists) {
  find_all(
      labels, lines, [&](std::size_t line) { return bounds.floor[line]; },
      [&](std::size_t line, std::size_t begin, const Found &found) {
        std::int64_t to = lists.next[line];
        for (std::size_t j = 0; j < found.size; ++j)
          if (found.value[j] <= bounds.ceiling[line]) {
            lists.index[to] = static_cast<std::int64_t>(begin + found.index[j]);
            lists.value[to++] = found.value[j];
          }
        lists.next[line] = to;
      });
}
