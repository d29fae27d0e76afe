"""Engines: they bound how far a budget can move the margins of rows.

Rows and the margins that a decision gives them are a case; an engine bounds it. It is chosen by the
type of the model's functional, and what it cannot do is missing from its `can`.

`protocol`   what rows, cases, engines and certifiers are, and how far results may be off
`choice`     the engine of a model, by its functional; the method "auto"; rows with several margins
`linear`     the case of scores that are linear in the labels
`selection`  reach, minimum budgets and witnesses by selection over influence rows, dense or CSR
`anchors`    the parameter box and the sandwich: bounds that need no selection
`rational`   the same without rounding, for what doubles leave open (needs python-flint)
`classes`    several classes: one selection for every rival
`rivals`     several classes, one logistic regression each
`region`     models such as logistic regression, whose labels are in the gradient
`candidates` models that the labels choose among candidates
`validation` differences of cross-validation errors: which candidates can be chosen?
`residuals`  residuals of cross-validation as functions of the labels
`passes`     training rows in pieces
`votes`      votes over partitions: what it costs, in labels, to change them
"""
