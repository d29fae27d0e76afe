"""Who answers a question about rows.

`inputs`     rows as a learner's definition sees them
`rows`       their weights, made on demand
`precision`  how far computed reaches may be from the true ones
`exact`      ranges, minimum budgets and witnesses by selection over the influence rows
`parameter_box`, `sandwich`  bounds that answer without selection
`auto`       bounds where they suffice, `exact` for the rest
`answer`     bounds and verdicts: what is proven, and how
`rational`   the same without rounding, for what doubles leave open (needs python-flint)
"""
