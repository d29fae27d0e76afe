"""Least squares and ridge.

`family`      LinearRegression, Ridge and RidgeClassifier, registered
`centred`     what both solvers share: intercept, sample weights, scaling
`tall`        solved in the space of the features
`wide`        solved in the space of the rows, where these are fewer
`exact`       the same in rational arithmetic
`verified`    an inverse with a proof; `gram`, `scaling`, `null_space` prepare its matrix
"""
