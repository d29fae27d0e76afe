"""Every table and figure of the paper, on the real data, one file each.

`reproduce` lists the experiments in the paper's order, runs them, keeps finished pieces, and writes
tables, figures and the page; ``unswayed reproduce`` calls it. What the experiments share:

`experiment`  pieces, and the record of what they found
`problems`    data, folds and alphas as in the paper
`store`       finished pieces on disk
`figures`     how figures look
`pages`       records as Markdown
"""
