"""Models whose labels are in the gradient: logistic and Poisson regression, in floating point.

The certificate of such a model is a region: how far the margin of every training row can move. It
is checked here that no admissible labels lead out of it, and what follows for every claim. Nothing
is shared with the engine that made it; not even an exponential of a library is trusted. Read it in
this order:

`functions`  exponentials, means and secants from additions and products alone
`problem`    the equations: distinct rows, weights, labels; what parameters miss them by
`inverse`    inverses in the order of quadratic forms
`solution`   the solution for given labels, enclosed: scores as they are, and with a witness
`selection`  the sum of the k largest effects of labels
`box`        bounds that hold as long as no margin leaves a box; whether it maps into itself
`remainder`  sharper bounds inside it
`question`   what must stay, and whether it does
`claims`     puts it together
"""

from unswayed.verify.gradient.claims import KINDS, Settled, check_document, settle

__all__ = ["KINDS", "Settled", "check_document", "settle"]
