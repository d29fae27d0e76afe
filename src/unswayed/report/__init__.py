"""The report: a study becomes a dict, a dict becomes one offline page.

`summarise`  a study to plain values: rates, groups, curves, provenance
`details`    the rows, labels and coefficients worth a closer look
`charts`     Vega-Lite specifications, made with altair
`render`     the dict to HTML
"""
