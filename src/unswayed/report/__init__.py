"""The report: findings become a dict, the dict becomes one offline page.

`facts`      what a page says of certificates, wherever they come from
`summarise`  findings to plain values: rates, groups, curves, provenance
`classes`    what the model says: class balance, confusion, predicted classes
`caveats`    where a rate is true and misleads
`details`    the rows, labels and coefficients worth a closer look
`charts`     Vega-Lite specifications, made with altair
`render`     the dict to HTML
"""
