"""The experiments: the paper's, in its order, and those beyond it."""

from unswayed.exceptions import InputError
from unswayed.experiments import (
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
from unswayed.experiments.experiment import Experiment

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


def chosen(names: list[str] | None) -> list[Experiment]:
    """Return experiments by name, in the paper's order, then those beyond it.

    Parameters
    ----------
    names : list of str or None
        None, or an empty list, for all of the paper's.

    Returns
    -------
    list of Experiment

    Raises
    ------
    InputError
        If there is no experiment of that name.
    """
    wanted, known = list(names or EXPERIMENTS), EXPERIMENTS | BEYOND
    for name in wanted:
        if name not in known:
            raise InputError(f"there is no experiment {name!r}; there are: {', '.join(known)}")
    return [experiment for name, experiment in known.items() if name in wanted]
