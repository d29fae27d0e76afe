"""Results: what certification returns, and how it prints.

`certificates`  one certificate per row: verdicts, ranges, minimum budgets
`rows`          certificates one by one: witnesses, `certs[27]`, the weakest rows
`curves`        robustness curves; summaries of one label set for all rows, and of random ones
`groups`        rates of groups and gaps between them, with intervals
`candidates`    models of which the labels choose one
`collective`    one label set for many rows: counts and metrics
`saved`         what a result needs to be written to a certificate file
`reviews`       plans of labels to check
`notebook`      how notebooks show results: one kind of table for all, links to pages
"""
