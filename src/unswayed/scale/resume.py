"""Runs over files that can be resumed: a store that knows what passes find."""

import os
from collections.abc import Iterable

from unswayed._core.tally import Tally
from unswayed.certifiers.precision import OffsetSums
from unswayed.certifiers.streamed.work import Counted, GramPart, LabelBatch, Pulled, Strongest
from unswayed.models.ridge.summed import RowSums
from unswayed.scale.distinct import Distinct, Limit
from unswayed.scale.distinct import Tally as DistinctRows
from unswayed.scale.moments import Moments
from unswayed.scale.packing import storable
from unswayed.scale.paths import Stamp
from unswayed.scale.rows import CollectedRows, RowCounts
from unswayed.scale.store import Source, Store
from unswayed.scale.survey import Labels, Survey, SurveyedColumn
from unswayed.scale.training import Found, Print, Sums

for _kind in (
    CollectedRows, Counted, Distinct, DistinctRows, Found, GramPart, LabelBatch, Labels, Limit,
    Moments, OffsetSums, Print, Pulled, RowCounts, RowSums, Strongest, Sums, Survey, SurveyedColumn,
    Tally,
):  # fmt: skip
    storable(_kind)


def open_store(directory: str | os.PathLike[str], stamps: Iterable[Stamp]) -> Store:
    """Open the folder in which passes over files are kept."""
    return Store(directory, [Source(*stamp) for stamp in stamps])
