"""Where a budget comes from, and what can be said without one.

`noise`  labels that are wrong at random: how likely each prediction changes
`tails`  sums of independent effects: bounds on how likely they exceed a margin
"""
