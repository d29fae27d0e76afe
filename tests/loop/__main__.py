"""Attack many questions: ``python -m tests.loop [questions [first seed]]``.

With ``folds`` in front, only the command, with ``--folds``; with ``all-rows``, the commands about
all rows at once (a third number: in so many folds).
"""

import sys
import tempfile
from pathlib import Path

from tests.loop import collective, command, fitting
from tests.loop.command import Tally
from tests.loop.questions import ask, ask_in_folds


def main(n_questions: int = 700, first: int = 0) -> int:
    commands, fits = Tally(), Tally()
    for seed in range(first, first + n_questions):
        with tempfile.TemporaryDirectory() as folder:
            commands += command.attack(ask(seed), Path(folder))
        fits += fitting.attack(seed)
        if (seed + 1 - first) % 25 == 0 or seed + 1 == first + n_questions:
            for name, tally in (("command", commands), ("fit", fits)):
                counts = {key: value for key, value in vars(tally).items() if key != "broken"}
                print(name, counts, f"{len(tally.broken)} promises broken", flush=True)
    print(*commands.broken, *fits.broken, sep="\n\n")
    return int(bool(commands.broken or fits.broken))


def in_folds(n_questions: int = 200, first: int = 0) -> int:
    total = Tally()
    for seed in range(first, first + n_questions):
        with tempfile.TemporaryDirectory() as folder:
            total += command.attack(ask_in_folds(seed), Path(folder))
        if (seed + 1 - first) % 10 == 0:
            counts = {key: value for key, value in vars(total).items() if key != "broken"}
            print(counts, f"{len(total.broken)} promises broken", flush=True)
    print(*total.broken, sep="\n\n")
    return int(bool(total.broken))


def all_rows(n_questions: int = 50, first: int = 0, folds: int = 0) -> int:
    total = collective.Tally()
    split = ("--folds", str(folds)) if folds else collective.HELD_OUT
    for seed in range(first, first + n_questions):
        with tempfile.TemporaryDirectory() as folder:
            found = collective.Attack(seed, Path(folder), split).attack()
        total.runs, total.promises = total.runs + found.runs, total.promises + found.promises
        total.broken += found.broken
        print(seed, total.runs, total.promises, f"{len(total.broken)} broken", flush=True)
    print(*total.broken, sep="\n\n")
    return int(bool(total.broken))


if __name__ == "__main__":
    given = sys.argv[1:]
    if given[:1] == ["folds"]:
        sys.exit(in_folds(*map(int, given[1:])))
    if given[:1] == ["all-rows"]:
        sys.exit(all_rows(*map(int, given[1:])))
    sys.exit(main(*map(int, given)))
