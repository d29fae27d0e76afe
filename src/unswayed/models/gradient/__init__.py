"""Models whose labels are in the gradient: logistic and Poisson regression.

Their parameters solve Aᵀ W (mean(Aθ) - y) + Λθ = 0, so that labels enter linearly, although the
parameters are not linear in them.

`links`    means as functions of margins, and how steep they are
`problem`  a training problem: rows, weights, labels, penalty; its residual with error bounds
`solver`   Newton's method for many label vectors at once
`family`   LogisticRegression and PoissonRegressor, registered
"""
