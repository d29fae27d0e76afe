"""A training file with some of its labels corrected, and everything else as it was."""

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from unswayed.atomic import atomic_write
from unswayed.audit.files import is_csv, is_parquet, open_bytes, read_table
from unswayed.audit.reviewing import Answer, same
from unswayed.audit.study import Study
from unswayed.exceptions import InputError

_MARK = "\ufeff"  # what some programs begin UTF-8 with


def endings(path: Path) -> tuple[str, ...]:
    """Return what the name of a corrected file may end in: CSV for CSV, Parquet for all others."""
    return (".csv",) if not path.is_file() or is_csv(path) else (".parquet", ".pq")


def write_corrected(study: Study, answers: Iterable[Answer], path: Path) -> None:
    """Write the training file of a study with corrected labels: all rows, all columns."""
    labels = dict(zip(study.train.numbers.tolist(), study.train.labels, strict=True))  # type: ignore[arg-type]
    given = [answer for answer in answers if labels[answer.row] != answer.label]
    for answer in given:
        if study.target.rest and not answer.label and _class_of(study, answer) is None:
            raise InputError(
                f"--out {path}: row {answer.row:,} is {answer.text!r} by the review, which does "
                "not say which class to write; answer one of "
                + ", ".join(map(repr, study.target.versus))
            )
    with atomic_write(path) as beside:
        if is_csv(study.request.train):
            _write_csv(study, given, beside)
            _check(study, given, beside, path)
        else:
            pq.write_table(_table(study, given), beside)


def _class_of(study: Study, answer: Answer) -> Any:
    """Return the class that an answer names; None if that is any but the positive one."""
    target = study.target
    if not target.rest or answer.label:
        return target.classes[int(answer.label)]
    named = dict(zip(target.versus, target.rest, strict=True))
    return next((value for name, value in named.items() if same(answer.text, name)), None)


def _table(study: Study, answers: list[Answer]) -> pa.Table:
    path = study.request.train
    table = pq.read_table(path) if is_parquet(path) else read_table(path, (), study.request.reading)
    place = table.column_names.index(study.target.label)
    column = table.column(place)
    values = column.to_pylist()
    for answer in answers:
        if study.target.classes:
            values[answer.row - 1] = _class_of(study, answer)
        else:
            values[answer.row - 1] = float(answer.text.replace(study.request.reading.decimal, "."))
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    try:
        made = pa.array(values, type=kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # a fraction among whole numbers
        made = pa.array([None if value is None else float(value) for value in values])
    return table.set_column(place, study.target.label, made)


def _write_csv(study: Study, answers: list[Answer], path: Path) -> None:
    """Copy a CSV file, sign by sign, but for the labels."""
    with open_bytes(study.request.train) as file:
        text = file.read().decode()
    cells = _label_cells(study, text)
    parts, done = [], 0
    for answer in sorted(answers, key=lambda each: each.row):
        start, end = cells[answer.row - 1]
        parts += [text[done:start], _spelled(study, answer, text, cells)]
        done = end
    path.write_bytes("".join([*parts, text[done:]]).encode())


def _label_cells(study: Study, text: str) -> list[tuple[int, int]]:
    """Return where the label of every row begins and ends; empty lines are no rows."""
    reading = study.request.reading
    sign = re.escape(reading.delimiter)
    cell = re.compile(rf'("(?:[^"]|"")*"[^{sign}\r\n]*|[^{sign}\r\n]*)({sign}|\r\n|\n|\r|\Z)')
    place = study.train.table.column_names.index(study.target.label)
    found: list[tuple[int, int]] = []
    record: list[tuple[int, int]] = []
    for match in cell.finditer(text.removeprefix(_MARK)):
        record.append(match.span(1))
        if match[2] != reading.delimiter:
            if len(record) > place:
                found.append(record[place])
            record = []
    shift = len(text) - len(text.removeprefix(_MARK))
    rows = found[1:] if reading.header else found
    return [(start + shift, end + shift) for start, end in rows]


def _spelled(study: Study, answer: Answer, text: str, cells: list[tuple[int, int]]) -> str:
    """Return a label as the file writes it: a class as in another row, a number as answered."""
    if study.target.classes:
        labels = study.train.table.column(study.target.label).to_pylist()
        start, end = cells[int(study.train.numbers[labels.index(_class_of(study, answer))]) - 1]
        return text[start:end]
    start, _ = cells[answer.row - 1]
    return f'"{answer.text}"' if text[start : start + 1] == '"' else answer.text


def _check(study: Study, answers: list[Answer], written: Path, path: Path) -> None:
    """Raise unless the file that was written is the old one but for the labels."""
    reading, label = study.request.reading, study.target.label
    before = read_table(study.request.train, (), reading)
    after = read_table(written, (), reading)
    texts = [name for name in before.column_names if name != label]
    same = after.column_names == before.column_names and after.num_rows == before.num_rows
    if same and after.select(texts).equals(before.select(texts)):
        old, new = (_labels(each.column(label)) for each in (before, after))
        rows = {answer.row - 1 for answer in answers}
        if all(old[at] == new[at] or at in rows for at in range(len(old))):
            return
    raise InputError(
        f"--out {path}: {study.request.train} could not be copied without a change to other cells; "
        "correct the labels in it by hand"
    )


def _labels(column: Any) -> list[Any]:
    values = column.to_pylist()
    return [None if isinstance(value, float) and math.isnan(value) else value for value in values]
