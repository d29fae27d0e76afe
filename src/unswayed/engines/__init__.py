"""Engines: they bound how far labels can move the scores of rows.

`protocol`   what an engine is, and how far its results may be off by rounding
`rows`       rows as the model sees them, and their weights, made on demand
`selection`  reach, minimum budgets and witnesses by selection over the influence rows
`anchors`    the parameter box and the sandwich: bounds that need no selection
`cascade`    anchors where selection is dear, selection for what they leave open
`rational`   the same without rounding, for what doubles leave open (needs python-flint)
`region`     models such as logistic regression, whose labels are in the gradient
`passes`     training rows in pieces
"""
