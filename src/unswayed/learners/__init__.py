"""Models that are linear in their labels: score = influence(x) · y.

`protocol`       what the engine needs of a model
`least_squares`  least squares and ridge, intercept, sample weights, rank deficiency
`kernel`         kernel ridge
`smoother`       an explicit influence matrix or function, for everything else
`refusals`       what is not linear in its labels, or looks at them, and why
`adapters`       from a scikit-learn estimator or pipeline to one of the above
"""
