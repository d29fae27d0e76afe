"""The experiments, in the paper's order."""

from unswayed.exceptions import InputError
from unswayed.experiments import (
    accuracy_losses,
    approximation,
    attacks,
    compas_race,
    dataset_size,
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


def chosen(names: list[str] | None) -> list[Experiment]:
    """Return experiments by name, in the paper's order.

    Parameters
    ----------
    names : list of str or None
        None, or an empty list, for all of them.

    Returns
    -------
    list of Experiment

    Raises
    ------
    InputError
        If there is no experiment of that name.
    """
    wanted = list(names or EXPERIMENTS)
    for name in wanted:
        if name not in EXPERIMENTS:
            raise InputError(
                f"there is no experiment {name!r}; there are: {', '.join(EXPERIMENTS)}"
            )
    return [experiment for name, experiment in EXPERIMENTS.items() if name in wanted]
