"""Proofs in floating point: every number comes with a bound on its own error.

What the bounds do not decide is left to exact arithmetic. Nothing here is shared with the engine
that makes certificates, and every bound is derived in its own way. Read it in this order:

`rounding`      what is assumed of doubles, and what follows
`enclosure`     numbers as sums of two doubles, with an error
`products`      matrix products with 80 binary digits
`equations`     linear equations that are proven to have one solution
`ridge`, `dual` influence of labels and scores, for each kind of model; `null_vectors` for columns
                that depend on each other
`reach`         how far k labels can move a score
`facts`         what follows from that for a claim
`stage`         puts it together, block by block
"""

from unswayed.verify.floating.rounding import UnprovenError
from unswayed.verify.floating.stage import FloatingModel

__all__ = ["FloatingModel", "UnprovenError"]
