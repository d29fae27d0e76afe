"""Models: how a fitted estimator's scores depend on its labels.

`learner`   what engines need of a model, with error bounds, and its numbers for exact arithmetic
`family`    the registry of model families
`families`  registers those of the package
`ridge`     least squares and ridge
`kernel`    kernel ridge
`smoother`  an explicit influence matrix, dense or CSR, for everything else
`gradient`  logistic and Poisson regression
`balanced`  scores measured from the mean of the labels
`steps`     the steps before the final estimator, and whether their features depend on labels
`refusals`  checks that refuse what cannot be certified, with the reason
"""
