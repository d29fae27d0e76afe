"""Models that are linear in their labels: score = influence(x) · y.

`learner`        what certifiers need of a model, with error bounds
`specification`  the numbers that define a model, for exact arithmetic and certificate files
`family`         the registry of model families; `families` registers those of the package
`ridge/`         least squares and ridge
`kernel`         kernel ridge
`smoother`       an explicit influence matrix, for everything else
`steps`          the steps before the final estimator of a pipeline
`label_peeking`  tests whether features depend on labels
`refusals`       checks that refuse what cannot be certified, with the reason
`whole_matrix`   matrices of whole numbers, for exact arithmetic
"""
