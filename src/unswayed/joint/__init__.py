"""All rows at once: what one admissible set of wrong labels can do to many predictions together.

`fragile`  rows that some labels can overturn, and which exclude one another; goals
`classes`  the same of three or more classes: an event for every rival
`cases`    the theorem of bounds: a tree of cases, and multipliers for each of its leaves
`quick`    bounds that take little time
`attack`   label sets: from programmes, from sums of influence rows, by local search, at random
`search`   from cheap bounds to dear ones: a range
`ranges`   both ends of a metric; means of scores, in closed form
`metrics`  rates, gaps and ratios as goals
`review`   which labels to check

A bound from above (*outer*) holds for every admissible set of labels; a value from below (*inner*)
comes with the labels that reach it, and the engine has proven that they do. The two are computed
apart, so that where they meet, nothing is left to say.
"""
