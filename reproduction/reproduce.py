"""Runs experiments, the paper's and one beyond it, and writes tables, figures and the page."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reproduction import (
    accuracy_losses,
    approximation,
    attacks,
    compas_race,
    dataset_size,
    logistic,
    minority,
    regression,
    running_times,
    states,
    synthetic_table,
    table1,
    targeting,
    tradeoff,
)
from reproduction.experiment import Experiment, Record, Results
from reproduction.pages import claims_page, experiment_page, own_page, verdict
from reproduction.pages import page as whole_page
from reproduction.problems import Data
from reproduction.store import Store
from unswayed.datasets import DatasetError
from unswayed.exceptions import InputError

COMMAND = "unswayed reproduce --data DIR --page docs/reproduction.md"
_IMAGES = "images/reproduction"

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        table1,
        accuracy_losses,
        regression,
        tradeoff,
        approximation,
        states,
        targeting,
        compas_race,
        dataset_size,
        synthetic_table,
        minority,
        running_times,
        attacks,
    )
}

BEYOND: dict[str, Experiment] = {logistic.EXPERIMENT.name: logistic.EXPERIMENT}
"""Experiments that the paper does not have, each with a page of its own."""


@dataclass
class Reproduction:
    """Records of the experiments that ran, and why others failed."""

    records: list[Record] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)  # experiment: why

    def lines(self) -> Iterator[str]:
        """Yield what the terminal shows: claims that hold, and the largest differences."""
        for record in self.records:
            held = sum(claim.holds for claim in record.claims)
            yield f"{record.title}: {held} of {len(record.claims)} claims hold"
            for item in record.comparisons:
                largest = f"{item.largest:.{item.decimals}f}"
                yield f"  {item.title}: largest difference {largest}: {verdict(item)}"

    def to_dict(self) -> dict[str, Any]:
        """Return claims, largest differences and failures as plain values, for JSON."""
        return {
            "experiments": {
                record.name: {
                    "claims": {claim.text: claim.holds for claim in record.claims},
                    "largest differences": {c.title: c.largest for c in record.comparisons},
                }
                for record in self.records
            },
            "failures": self.failures,
        }


def chosen(names: list[str] | None) -> list[Experiment]:
    """Return experiments by name, in the paper's order, then those beyond it."""
    wanted, known = list(names or EXPERIMENTS), EXPERIMENTS | BEYOND
    for name in wanted:
        if name not in known:
            raise InputError(f"there is no experiment {name!r}; there are: {', '.join(known)}")
    return [experiment for name, experiment in known.items() if name in wanted]


def reproduce(
    names: Sequence[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] = "reproduction-results",
    *,
    page: str | os.PathLike[str] | None = None,
) -> Reproduction:
    """Run experiments, write their tables and figures to `out`, and a page that sums them up."""
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
            (folder / f"{record.name}.md").write_text(experiment_page(record, "."))
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
    own = whole_page(records, folder=".", command=COMMAND)
    (store.folder / "reproduction.md").write_text(own)
    (store.folder / "claims.md").write_text(claims_page(records))
    if page is None:
        return
    _copy_figures(store, records, page)
    page.write_text(whole_page(records, folder=page.stem, command=COMMAND))
    folder = page.with_suffix("")
    folder.mkdir(exist_ok=True)
    (folder / "claims.md").write_text(claims_page(records))
    for record in records:
        (folder / f"{record.name}.md").write_text(experiment_page(record, f"../{_IMAGES}"))


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
