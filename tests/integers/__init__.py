"""The checker of version 0.2 in integers of any size: the oracle of what is evaluated in doubles.

It solves and sorts for itself, so that it shares nothing with what it is compared with.

`algebra`    equations in integers
`influence`  what each label does to a score
`model`      scores, and how far labels move them
"""
