"""Runs the experiments: finished pieces are kept, tables, figures and the page are written."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from unswayed.datasets import DatasetError
from unswayed.experiments.catalogue import BEYOND, EXPERIMENTS, chosen
from unswayed.experiments.experiment import Experiment, Results
from unswayed.experiments.markdown import section
from unswayed.experiments.page import own_page
from unswayed.experiments.page import page as whole_page
from unswayed.experiments.problems import Data
from unswayed.experiments.record import Record
from unswayed.experiments.store import Store

COMMAND = "unswayed reproduce --data DIR --page docs/reproduction.md"
_IMAGES = "images/reproduction"


@dataclass
class Reproduction:
    """Records of the experiments that ran, and why others failed."""

    records: list[Record] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)  # experiment: why


def reproduce(
    names: Sequence[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] = "reproduction",
    *,
    page: str | os.PathLike[str] | None = None,
) -> Reproduction:
    """Run experiments and write their tables, figures and pages.

    Parameters
    ----------
    names : sequence of str, optional
        Experiments by name; by default all of them.
    data : path, optional
        Folder with the data sets; by default UNSWAYED_DATA's, or else downloads.
    out : path
        Each experiment leaves NAME.json, NAME.md and its figures here, and all of them
        together reproduction.md. Pieces that an earlier run finished are not computed again.
    page : path, optional
        Write the page here as well, its figures into images/reproduction beside it. Of one
        experiment that the paper does not have, a page of its own.

    Returns
    -------
    Reproduction
        Records of the experiments that ran; failures of those whose data or libraries are missing.
    """
    experiments = chosen(None if names is None else list(names))
    folder = Path(out)
    store = Store(folder)
    found = Reproduction()
    with _progress(sum(len(experiment.pieces) for experiment in experiments)) as advance:
        for experiment in experiments:
            try:
                record = _run(experiment, Data(data), store, advance)
            except (DatasetError, ImportError) as error:
                found.failures[experiment.name] = str(error)
                continue
            store.save_record(record)
            (folder / f"{record.name}.md").write_text(section(record, ".") + "\n")
            found.records.append(record)
    beyond = [record for record in found.records if record.name in BEYOND]
    if page is not None and beyond and len(beyond) == len(experiments) == 1:
        _write_own_page(store, beyond[0], Path(page))
    else:
        _write_pages(store, None if page is None else Path(page))
    return found


def _run(
    experiment: Experiment, data: Data, store: Store, advance: Callable[[str], None]
) -> Record:
    results: Results = {}
    total = 0.0
    for name, piece in experiment.pieces.items():
        advance(f"{experiment.name}: {name}")
        kept = store.load(experiment, name)
        if kept is None:
            start = time.perf_counter()
            result = piece(data)
            kept = result, time.perf_counter() - start
            store.save(experiment, name, *kept)
        results[name] = kept[0]
        total += kept[1]
    if experiment.draw is not None:
        experiment.draw(results, store.folder)
    return replace(experiment.report(results), seconds=total)


def _write_pages(store: Store, page: Path | None) -> None:
    records = store.records(list(EXPERIMENTS))
    if not records:
        return
    own = whole_page(records, images=".", command=COMMAND)
    (store.folder / "reproduction.md").write_text(own)
    if page is None:
        return
    _copy_figures(store, records, page)
    page.write_text(whole_page(records, images=_IMAGES, command=COMMAND))


def _write_own_page(store: Store, record: Record, page: Path) -> None:
    _copy_figures(store, [record], page)
    command = f"unswayed reproduce {record.name} --data DIR --page docs/{page.name}"
    page.write_text(own_page(record, images=_IMAGES, command=command))


def _copy_figures(store: Store, records: list[Record], page: Path) -> None:
    images = page.parent / _IMAGES
    images.mkdir(parents=True, exist_ok=True)
    for record in records:
        for stem in record.figures:
            for ending in (".svg", ".png"):
                shutil.copyfile(store.folder / f"{stem}{ending}", images / f"{stem}{ending}")


@contextmanager
def _progress(total: int) -> Iterator[Callable[[str], None]]:
    """Show a progress bar if stderr is a terminal; yields the function that advances it."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    try:
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import Progress  # noqa: PLC0415
    except ImportError:
        raise ImportError(
            "the progress bar needs rich: pip install 'unswayed[experiments]'"
        ) from None
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)

        def advance(what: str) -> None:
            bar.update(task, description=what)
            bar.advance(task)

        yield advance
