"""Exact answers about training rows that come in batches and are never together.

The reach of k labels is the sum of their k largest effects. How many effects exceed a threshold,
and their sum, add up over batches. So a pass over all batches, with a grid of thresholds for every
row in question, tells between which two of them the k-th largest effect is; the next pass has its
grid between these two, and the last one brings the few effects that are left there. Every answer
is made of the counts and sums of one pass alone: another pass may round otherwise.

`search`    what is looked for among the effects of a row, and passes that narrow down where it is
`engine`    ranges, minimum budgets and witnesses; few different training rows are held and counted
`training`  from batches of rows to batches of labels, and what is done with them
"""

from unswayed.engines.passes.engine import AnchorsFirst, MergedEngine, StreamedEngine
from unswayed.engines.passes.training import LabelBatch, Scan, Work

__all__ = ["AnchorsFirst", "LabelBatch", "MergedEngine", "Scan", "StreamedEngine", "Work"]
