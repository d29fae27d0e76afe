"""All rows at once: what one admissible set of wrong labels can do to many predictions together.

`fragile`    rows that some labels can overturn, and which of them exclude one another
`goal`       counts, rates and gaps to be made as large as possible; bounds by multipliers
`quick`      bounds that take little time
`programme`  linear and mixed-integer programmes with HiGHS, all tolerances outwards
`attack`     label sets: from programmes, from sums of influence rows, by local search, at random
`search`     from cheap bounds to dear ones, and attacks between them: a range
`ranges`     both ends of a metric
`metrics`    rates, gaps and ratios as goals
`means`      means of scores, in closed form
`review`     which labels to check

A bound from above (*outer*) holds for every admissible set of labels; a value from below (*inner*)
comes with the labels that reach it, and the engine has proven that they do. The two are computed
apart, so that where they meet, nothing is left to say.
"""
