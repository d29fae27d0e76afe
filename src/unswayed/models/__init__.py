"""Models: how a fitted estimator's scores depend on its labels.

`learner`   what engines need of a model, with error bounds, and its numbers for exact arithmetic
`family`    the registry of model families, and what is refused, with the reason
`families`  registers those of the package
`ridge`     least squares and ridge
`kernel`    kernel ridge
`smoother`  an explicit influence matrix, dense or CSR, for everything else
`gradient`  logistic and Poisson regression
`candidates`  models that the labels choose among candidates: RidgeCV, GridSearchCV
`balanced`  scores measured from the mean of the labels
`steps`     users' data, and the steps before the final estimator: do they look at labels?
"""
