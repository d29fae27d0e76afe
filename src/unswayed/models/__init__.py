"""Models: how a fitted estimator's scores depend on its labels.

`learner`   what engines need of a model, with error bounds, and its numbers for exact arithmetic
`family`    the registry of model families, and what is refused, with the reason
`families`  registers those of the package
`ridge`     least squares and ridge
`descent`   least squares by gradient descent that stops early
`kernel`    kernel ridge and Gaussian processes
`neighbours` nearest neighbours, by number or by radius
`averages`  bags and averages of these, and labels that are scaled
`smoother`  an explicit influence matrix, dense or CSR, for everything else
`gradient`  logistic and Poisson regression
`partitioned`  PartitionedClassifier: one member per partition of the rows
`votes`     what its votes are of the labels, and which members can be certified
`candidates`  models that the labels choose among candidates: RidgeCV, GridSearchCV
`balanced`  scores measured from the mean of the labels
`classes`   several classes: one column of scores each
`steps`     users' data, and the steps before the final estimator: do they look at labels?
"""
