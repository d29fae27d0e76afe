"""Who answers a question about rows: `exact` today, bounds that answer sooner beside it.

`margins`  how far a score may move before its prediction changes
`exact`    ranges, minimum budgets and witnesses by selection over the influence rows
`rational` the same without rounding, for what doubles leave open (needs python-flint);
           `rational_influence` has its models, `rational_matrix` its matrices
"""
