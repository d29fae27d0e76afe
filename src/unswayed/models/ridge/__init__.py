"""Least squares and ridge.

`learners`  solved in the space of the features, or of the rows, if these are fewer; registered
`verified`  an inverse with a proof, and what prepares its matrix
`summed`    ridge that knows its training rows by sums alone
"""
