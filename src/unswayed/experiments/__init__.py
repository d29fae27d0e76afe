"""Every table and figure of the paper, on the real data, one file each.

`catalogue`   the experiments, in the paper's order
`reproduce`   runs them, keeps finished pieces, writes tables, figures and the page

What they share: `experiment` (pieces and a report), `record` (what a report holds), `store`
(finished pieces on disk), `problems` (data, folds and alphas as in the paper), `figures`,
`markdown` and `page`.
"""
