"""Least squares and ridge.

`tall`      scaling; solved in the space of the features
`wide`      solved in the space of the rows, where these are fewer; the families, registered
`verified`  an inverse with a proof; the same in rational arithmetic
`summed`    ridge that knows its training rows by sums alone
"""
