"""All rows at once: what one admissible set of wrong labels can do to many predictions together.

```
fragile      rows that some labels can overturn, and what each label change does to them
goal         what is to be made as large as possible: counts, rates, gaps, in whole numbers
conflicts    rows that no labels overturn together: pairs, and cliques of pairs
programme    linear and mixed-integer programmes with HiGHS, all tolerances outwards
attack       label sets: from programmes, from sums of influence rows, by local search
search       from cheap bounds to dear ones, and attacks between them: a range
metrics      rates, gaps and ratios as goals
```

A bound from above (*outer*) holds for every admissible set of labels; a value from below (*inner*)
comes with the labels that reach it, and the engine has proven that they do. The two are computed
apart, so that where they meet, nothing is left to say.
"""
