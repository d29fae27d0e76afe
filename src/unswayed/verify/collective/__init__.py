"""Claims about all test rows together: how many one label set overturns, and ranges of metrics.

`asked`        what was asked: rows, weights, groups, true classes; and that in words
`functions`    metrics as sums over the rows that are predicted positive
`known`        what labels can do to one kind of row: is it overturned, how far from that
`bounded`      sums of rows in floating point with error bounds; `exactly` the same in integers
`kinds`        all rows, equal ones once, and which of the two tells something about them
`multipliers`  a bound on a sum over rows from any multipliers, which need not be trusted
`ends`         the outer ends that follow for metrics
`means`        ranges of means of scores
`findings`     compares a claim with all that, part by part
"""

from unswayed.verify.collective.asked import Asked
from unswayed.verify.collective.finding import Finding
from unswayed.verify.collective.findings import findings

__all__ = ["Asked", "Finding", "findings"]
