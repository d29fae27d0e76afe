"""Models whose labels are in the gradient: logistic and Poisson regression.

Their parameters solve Aᵀ W (mean(Aθ) - y) + Λθ = 0, so that labels enter linearly, although the
parameters are not linear in them.

`problem`  links, and a training problem with error bounds
`family`   Newton's method; LogisticRegression and PoissonRegressor, registered
`one_vs_rest`  one logistic regression per class
"""
