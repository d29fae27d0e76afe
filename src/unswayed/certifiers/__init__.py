"""Who bounds how far labels can move the scores of rows.

`protocol`     what a certifier is
`represented`  rows as a model's specification sees them
`rows`         their weights, made on demand
`precision`    how far computed reaches may be from the true ones
`exact`        reach, minimum budgets and witnesses by selection over the influence rows
`parameter_box`, `sandwich`  bounds that need no selection
`cascade`      the sandwich where exact rows are dear, exact for what it leaves open
`verdicts`     what follows from bounds and margins
`rational`     the same without rounding, for what doubles leave open (needs python-flint)
"""
