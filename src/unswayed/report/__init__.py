"""Facts of an answer, and pages made of them.

`certified`  test rows as arrays, and what their budgets count, in words
`facts`      what was found, as one dict: rates, classes, groups, caveats, coefficients
`page`       what a page shows beside that: curves, single rows, labels, how it was made
`charts`     Vega-Lite specifications, made with altair
`fairness`   what the page about fairness says: rates in per cent, the headline, limits
`render`     facts to HTML
"""
