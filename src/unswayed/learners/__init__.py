"""Models that are linear in their labels: score = influence(x) · y.

`protocol`       what the engine needs of a model
`definition`     the model in full, for exact arithmetic and checkers
`accuracy`       how far what is computed may be from the definition
`ridge`          what ridge has in common: intercept, sample weights, scaling
`least_squares`  least squares and ridge, rank deficiency
`wide`           the same with fewer rows than features
`kernel`         kernel ridge
`given`          influence that is given; `smoother` is its estimator, for everything else
`verified`       an inverse with a proof; `gram`, `scaling`, `null_space` prepare its matrix
`refusals`       what is not linear in its labels, or looks at them, and why
`adapters`       from a scikit-learn estimator or pipeline to one of the above
"""
