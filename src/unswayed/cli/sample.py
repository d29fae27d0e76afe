"""``unswayed sample``: labels drawn at random, and how many may be wrong in all."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unswayed.cli.checks import SampleDrawOptions, SampleReadOptions
from unswayed.cli.requests import make_request
from unswayed.cli.show import say_written
from unswayed.cli.terminal import Terminal, check_output, command_line, given, write_table
from unswayed.exceptions import InputError
from unswayed.study.loading import inspect_file
from unswayed.study.request import Request
from unswayed.study.review import label_list
from unswayed.study.stated import POPULATION, UNKNOWN, BySample, parse_confidence, read_sample
from unswayed.study.target import Target
from unswayed.words import counted, shorten


def draw(train: Path, options: SampleDrawOptions) -> int:
    """Answer ``unswayed sample draw``."""
    terminal = Terminal(options.output)
    request = make_request(train, options)
    check_output(options.out, "--out", (".csv",), *request.files)
    if options.checks < 1 or options.seed < 0:
        wrong = "--checks" if options.checks < 1 else "--seed"
        raise InputError(f"{wrong} is too small; pass --checks 1 or more, and --seed 0 or more")
    table, target = _labels(request)
    n_rows = table.num_rows
    if options.checks > n_rows:
        raise InputError(
            f"--checks {options.checks:,} is more than the {n_rows:,} rows of {train}; pass at "
            "most as many"
        )
    # Another stream than that of `--holdout`: with the same seed, it is not the test rows again.
    order = np.random.default_rng((options.seed, _STREAM)).permutation(n_rows)
    rows = np.sort(order[: options.checks])
    some = table.take(pa.array(rows))
    texts = [target.as_text(each) for each in target.encode(some.column(target.label)).tolist()]
    beside = {POPULATION: [n_rows] * len(rows)}
    columns = label_list((some, rows + 1), target.label, texts, beside)
    write_table(options.out, columns, escape=options.escape_formulas)
    terminal.say(
        f"{counted(len(rows), 'label')} to check, drawn at random from the {n_rows:,} rows of "
        f"{train.name}: fill in checked_label in every line, with the label as it should be, or "
        f"{UNKNOWN} where nobody can tell (which counts as wrong)",
        style="bold",
    )
    say_written(terminal, options.out)
    words = ["sample", "read", str(train), str(options.out), *_read_as()]
    terminal.say(f"next: {command_line(words)}")
    terminal.answer({"drawn": (rows + 1).tolist(), "of_rows": n_rows})
    return 0


def read(train: Path, checked: Path, options: SampleReadOptions) -> int:
    """Answer ``unswayed sample read``."""
    terminal = Terminal(options.output)
    request = make_request(train, options)
    sample = BySample(checked, parse_confidence(options.confidence))
    table, target = _labels(request)
    found = read_sample(checked, request, target, table)
    most = sample.most(found)
    sentence = found.sentence(most, sample.confidence)
    unknown = found.wrong - found.corrected
    terminal.say(
        f"{found.wrong:,} of {counted(found.checked, 'checked label')} are wrong"
        + (f", {unknown:,} of them because nobody can tell" if unknown else "")
    )
    terminal.say(sentence, style="bold")
    terminal.say(
        f"certify takes the labels that were checked to be right as they were answered, so that "
        f"at most {most - found.corrected:,} of the others are wrong"
    )
    words = ["certify", str(train), *_read_as(), "--sampled", str(checked)]
    words += ["--confidence", options.confidence]
    terminal.say(f"next: {command_line(words)}")
    terminal.answer(
        {
            "checked": found.checked,
            "wrong": found.wrong,
            "unknown": unknown,
            "of_rows": found.population,
            "confidence": sample.confidence,
            "most_wrong": most,
            "most_wrong_of_others": most - found.corrected,
            "sentence": sentence,
        }
    )
    return 0


def _labels(request: Request) -> tuple[pa.Table, Target]:
    """Read all rows of the training file, and recognise what their labels are."""
    table, found = inspect_file(request.train, request.roles, request.dialect)
    column = table.column(request.label)
    missing = np.asarray(pc.is_null(column, nan_is_null=pa.types.is_floating(column.type)))
    for at in np.flatnonzero(missing)[:1]:
        raise InputError(
            f"the label {shorten(request.label)!r} is missing in row {at + 1:,} "
            f"({counted(int(missing.sum()), 'such row')}), so that there is nothing to check; "
            "remove such rows before a sample is drawn"
        )
    classes = next(each.n_values for each in found.columns if each.role == "label")
    target = Target.of(
        request.label,
        column,
        request.task,
        log=request.log,
        positive=request.positive,
        versus_rest=request.positive is not None and classes > 2,
    )
    return table, target


_STREAM = 1  # not 0: (seed, 0) seeds the same stream as the bare seed
_OWN = ("--checks", "--seed", "--out", "--output", "--confidence")
_FLAGS = ("--json", "--quiet", "--no-escape-formulas", "--escape-formulas")


def _read_as() -> list[str]:
    """Return the options that say how the file is read, as they were given."""
    kept: list[str] = []
    words: Any = iter(given.get())
    started = False
    for word in words:
        name = word.split("=")[0]
        started = started or word.startswith("--")
        if name in _OWN:
            if "=" not in word:
                next(words, None)
        elif started and name not in _FLAGS:
            kept.append(word)
    return kept
