"""Options about the model: which kind it is, its penalty, and how it is certified."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

from unswayed.exceptions import InputError
from unswayed.study.request import (
    KINDS,
    RIDGE,
    Kind,
    need_linear,
    parse_alpha,
    parse_probability,
    parse_strength,
    parse_threshold,
)

MODEL_GROUP = Group("Model", sort_key=3)
MODEL = Parameter(group=MODEL_GROUP)
KindName = Literal["ridge", "logistic"]


@Parameter(name="*", group=MODEL_GROUP)
@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Options about the model and how it is certified."""

    model: KindName = "ridge"
    """The model: ridge regression on labels 0 and 1 or on numbers, whose verdicts are exact, or
    logistic regression for two classes, which leaves some rows undecided."""
    alpha: str | None = None
    """Ridge penalty: a number (by default 1), or auto to choose it on rows that are no training
    rows: a fifth of them is set aside (at most 5,000), or those of --validation (with --folds only
    these)."""
    C: Annotated[str | None, Parameter(name="--C")] = None
    """Of --model logistic instead of alpha: a number above 0 (by default 0.01), the smaller the
    stronger the penalty; or auto, as for alpha."""
    effort: int | None = None
    """Of --model logistic, what to do for rows that are left undecided: 0, 1 (the default) or 2."""
    threshold: str | None = None
    """Score above which the second class is predicted: a number (by default 0.5, half-way), or
    balanced for the share of positive labels, which moves with the labels and is certified so. Of
    --model logistic a probability."""
    give_up: float | None = None
    """Points of accuracy to trade for robustness; takes the largest penalty within that loss."""
    validation: Path | None = None
    """Rows to choose alpha (or C) on, with the same columns and labels that are right. They must be
    other rows than the training rows, which nobody can check for you."""
    method: str = "exact"
    """How to prove it: exact; auto for the same verdicts with wider ranges, faster on very many
    training rows; sandwich or box for bounds that leave rows undecided."""
    resolve: Literal["exact"] | None = None
    """Settle what rounding leaves undecided in rational arithmetic: slow, and never in doubt."""

    def asked(self, train: Path) -> dict[str, Any]:
        """Return the fields of a request that these options are about.

        Parameters
        ----------
        train : Path
            The training file.

        Returns
        -------
        dict

        Raises
        ------
        InputError
            If a value cannot be read, or two options contradict each other.
        """
        kind = KINDS[self.model]
        alpha = self._penalty(kind)
        if self.give_up is not None and not self.give_up >= 0:
            raise InputError(f"--give-up {self.give_up:g} is not a loss; pass 0 or more points")
        if self.give_up is not None and alpha is not None:
            raise InputError(
                f"--give-up chooses {kind.option}, so pass either --{kind.option} or --give-up"
            )
        if self.validation is not None:
            _check_validation(self.validation, train, alpha, kind.option)
        self._check_linear(kind)
        threshold = None
        if self.threshold is not None:
            threshold = (parse_threshold if kind.linear else parse_probability)(self.threshold)
        return {
            "kind": kind,
            "alpha": alpha,
            "effort": self.effort,
            "threshold": threshold,
            "give_up": self.give_up or 0.0,
            "validation": self.validation,
            "method": self.method,
            "resolve": self.resolve,
        }

    def _penalty(self, kind: Kind) -> float | None:
        """Return the penalty; None if it is to be chosen."""
        other, given = ("C", self.C) if kind is RIDGE else ("alpha", self.alpha)
        if given is not None:
            which = "logistic" if other == "C" else "ridge"
            raise InputError(
                f"--{other} is the penalty of --model {which}, and --model is {kind.name}; pass "
                f"--{kind.option} (C = 1 / penalty), or --model {which}"
            )
        mine = self.alpha if kind is RIDGE else self.C
        usual = "1" if kind is RIDGE else "0.01"
        text = mine or (usual if self.give_up is None else "auto")
        return parse_alpha(text) if kind is RIDGE else parse_strength(text)

    def _check_linear(self, kind: Kind) -> None:
        """Raise for options that a kind of model does not have."""
        if kind.linear:
            if self.effort is not None:
                raise InputError(
                    f"--effort {self.effort} is for --model logistic: certificates of ridge "
                    "regression are exact anyway; leave it out"
                )
            return
        if self.effort not in (None, 0, 1, 2):
            raise InputError(f"--effort {self.effort} is none of 0, 1 and 2; pass one of them")
        if self.method not in ("exact", "auto"):
            need_linear(kind, f"--method {self.method}")
        if self.resolve is not None:
            need_linear(kind, f"--resolve {self.resolve}")


def _check_validation(validation: Path, train: Path, alpha: float | None, option: str) -> None:
    if alpha is not None:
        raise InputError(
            f"--validation is for rows that choose {option}, but a number was given; pass "
            f"--{option} auto or --give-up, or leave --validation out"
        )
    if validation.exists() and train.exists() and validation.samefile(train):
        raise InputError(
            f"--validation {validation} is the training file; labels that may be wrong would "
            f"choose {option} and the certificate would be false, so pass other rows, or none: "
            "then some are set aside"
        )
