"""Models whose labels are in the gradient: regions, remainders, attacks.

`attack`  what single labels add to the gradient, label changes that move scores, and proofs
`region`  a box of margins that no admissible labels leave, and bounds on scores inside it
`engine`  all of it for some rows, from cheap to dear
`case`    rows put to the engine: least budgets, small witnesses, what certificate files state
`proof`   what certificate files carry to prove it
"""
