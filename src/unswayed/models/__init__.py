"""Models that are linear in their labels: score = influence(x) · y.

`learner`        what certifiers need of a model, and how exact it is
`specification`  the model in full, for exact arithmetic and checkers
`family`         which estimators are models of which kind, by registration; `families` are ours
`ridge/`         least squares and ridge
`kernel`         kernel ridge
`smoother`       an explicit influence matrix, for everything else
`steps`          what may stand before the final estimator in a pipeline
`label_peeking`  whether features depend on labels
`refusals`       what is not linear in its labels, or looks at them, and why
`whole_matrix`   matrices of whole numbers, for exact arithmetic
"""
