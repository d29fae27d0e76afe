"""Least squares and ridge.

`family`    LinearRegression, Ridge and RidgeClassifier, registered
`scaling`   what both solvers share: intercept, sample weights, scaling
`tall`      solved in the space of the features
`wide`      solved in the space of the rows, where these are fewer
`exact`     the same in rational arithmetic
`verified`  an inverse with a proof, and what prepares its matrix
`summed`    ridge that knows its training rows by sums alone
"""
