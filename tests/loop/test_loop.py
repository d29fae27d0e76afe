"""Labels in the loop: change some, run everything again, and see that what was promised holds.

The certificate says what wrong labels can do to a model that is fitted on them. If anything else
on the way from the file to the prediction looked at the training labels (a choice of alpha, a
split, a weight), a changed label would change that too, and the promise would be hollow. So here
labels are changed in the file, within the bias, and the *whole* command is run again; of models in
Python everything is fitted again. Some changes are drawn, the others are all but one of the labels
that overturn a row: as near to breaking a promise as may be.

``python -m tests.loop 700`` attacks 700 questions of either kind, more than 2,000 runs of the
command; a second number says where to begin. ``python -m tests.loop folds 150`` does so with
``--folds``, about 500 runs.
"""

import numpy as np
import pandas as pd
import pytest

from tests.commands import unswayed_here
from tests.effort import some
from tests.loop import collective, command, fitting
from tests.loop.command import Tally
from tests.loop.questions import ask, ask_in_folds

# Their promises were broken while alpha was fitted on the training labels.
HOLES = (20_038, 20_041, 20_054, 20_064, 20_097)
DRAWN = tuple(range(10_000, 10_008))


def holds(tally: Tally) -> None:
    assert not tally.broken, f"{len(tally.broken)} promises were broken:\n" + "\n".join(
        tally.broken[:5]
    )
    assert not tally.other_alphas
    assert tally.promises >= tally.runs
    assert tally.refused + tally.runs_refused <= 0.2 * (tally.questions + tally.runs)


@pytest.mark.parametrize("seeds", [HOLES, DRAWN[:4], DRAWN[4:]], ids=["holes", "some", "others"])
def test_no_training_label_turns_a_robust_row_by_way_of_the_command(seeds, tmp_path):
    total = Tally()
    for seed in seeds[: some(1, 5)]:
        folder = tmp_path / str(seed)
        folder.mkdir()
        total += command.attack(ask(seed), folder)
    holds(total)


def test_no_label_turns_a_robust_row_by_way_of_the_command_with_folds(tmp_path):
    total = Tally()
    for seed in range(some(1, 5)):
        folder = tmp_path / str(seed)
        folder.mkdir()
        total += command.attack(ask_in_folds(seed), folder, 1, 1)
    holds(total)


@pytest.mark.parametrize("choice", [("--alpha", "auto"), ("--give-up", "1")])
def test_no_two_labels_turn_a_robust_row_by_way_of_the_choice_of_alpha_in_folds(choice, tmp_path):
    """Rows set aside in one fold train in others: these two labels once turned five robust rows."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=60).round(2), rng.normal(size=60).round(2)
    merit = x + 0.5 * z + rng.normal(0, 1, 60)
    frame = pd.DataFrame({"x": x, "z": z, "y": np.where(merit > 0, "yes", "no")})

    def run(table, *more):
        table.to_csv(tmp_path / "rows.csv", index=False)
        return unswayed_here(
            *("certify", "rows.csv", "--label", "y", "--folds", "3", "--budget", "2", *choice),
            *("--out", "out.csv", "--quiet", *more),
            cwd=tmp_path,
        )

    refused = run(frame)
    assert refused.returncode == 2, "labels that train in other folds chose alpha"
    assert "--alpha 1" in refused.stderr
    assert "--validation FILE" in refused.stderr
    frame[::2].to_csv(tmp_path / "others.csv", index=False)
    other = frame.copy()
    other.loc[[12, 31], "y"] = other.loc[[12, 31], "y"].map({"yes": "no", "no": "yes"})
    tables = []
    for each in (frame, other):
        assert run(each, "--validation", "others.csv").returncode == 0
        tables.append(pd.read_csv(tmp_path / "out.csv"))
    before, after = tables
    robust = before["verdict"] == "robust"
    assert robust.sum() >= 20
    assert (before["prediction"] == after["prediction"])[robust].all()


def test_no_training_label_turns_a_robust_row_by_way_of_fit():
    holds(sum((fitting.attack(seed) for seed in range(some(5, 12))), Tally()))


@pytest.mark.parametrize("split", [collective.HELD_OUT, ("--folds", "3", "--fold-by", "pair")])
def test_no_count_and_no_range_of_all_rows_is_exceeded_by_way_of_the_command(split, tmp_path):
    tally = collective.Attack(0, tmp_path, split).attack()
    assert not tally.broken, "\n".join(tally.broken)
    assert tally.promises >= 7 * tally.runs >= 28
