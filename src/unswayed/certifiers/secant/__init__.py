"""Models whose labels are in the gradient: regions, remainders, attacks.

`moves`      what single labels can add to the gradient
`region`     a box of margins, and bounds on scores inside it
`closing`    a box that no admissible labels lead out of
`remainder`  sharper bounds inside it, row by row
`splitting`  bounds case by case: labels pile up on a few rows, or they do not
`attack`     label changes that move scores, and proofs of how far
`engine`     all of it for some rows, from cheap to dear
`least`      least budgets and small witnesses
"""
