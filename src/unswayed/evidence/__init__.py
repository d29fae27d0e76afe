"""Where a budget comes from, and what can be said without one.

`noise`       labels that are wrong at random: how likely each prediction changes
`errors`      what random errors add to labels, and how likely rows cross their margins
`tails`       sums of independent effects: bounds on how likely they exceed a margin
`audit`       LabelAudit: confirm answers by checking labels that are drawn
`answers`     what an audit is about, and what an answer says of a label
`capital`     what bets against each claim have earned after some draws
`audit_file`  its file, which only grows: draws, answers and all that the e-values are made of
`effects`     what each label can do to each number that is asked about, rounded outwards
"""
