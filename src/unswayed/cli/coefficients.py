"""``unswayed coefficients``: which coefficients keep their sign."""

from pathlib import Path
from typing import Annotated, Any

from unswayed.audit.data_facts import column_facts, data_facts
from unswayed.audit.opening import open_study
from unswayed.audit.recipe import check_recipe, save_certificates
from unswayed.audit.study import Study
from unswayed.cli.options import (
    OUTPUT,
    BiasOptions,
    DataOptions,
    Escape,
    ModelOptions,
    OutputOptions,
    Train,
    make_request,
)
from unswayed.cli.terminal import Terminal
from unswayed.cli.writing import TABLES, check_output, write_table
from unswayed.report.details import all_coefficients
from unswayed.report.findings import caveat_dicts
from unswayed.words import labels

_LINES = 40


def coefficients(
    train: Train,
    /,
    *,
    data: DataOptions,
    bias: BiasOptions | None = None,
    model: ModelOptions | None = None,
    output: OutputOptions | None = None,
    out: Annotated[Path | None, OUTPUT] = None,
    escape_formulas: Escape = True,
    certificates: Annotated[Path | None, OUTPUT] = None,
) -> int:
    """Prove which coefficients keep their sign.

    Every row is a training row. Numbers are scaled to unit variance, so coefficients compare.

    Example: unswayed coefficients people.csv --label salary --shift 2000 --budget 2%

    Parameters
    ----------
    train : Path
    data : DataOptions
    bias : BiasOptions, optional
    model : ModelOptions, optional
    output : OutputOptions, optional
    out
        Table of all coefficients: FILE.csv, .parquet or .json.
    escape_formulas : bool
    certificates
        Claims that anyone can check with unswayed verify: FILE.json.

    Returns
    -------
    int
        Exit code.
    """
    terminal = Terminal(output)
    request = make_request(train, data, bias, model)
    check_output(out, "--out", TABLES, *request.files)
    check_output(certificates, "--certificates", (".json",), *request.files, out)
    if certificates is not None:
        check_recipe(request)
    study = open_study(request, terminal, need_test=False)
    found = all_coefficients(study.coefficients, study.columns.feature_names())
    if out is not None:
        write_table(
            out, {head: [each[head] for each in found] for head in found[0]}, escape=escape_formulas
        )
    if certificates is not None:
        save_certificates(study, [study.coefficients], certificates)
    for note in study.notes:
        terminal.note(note)
    for caveat in study.caveats:
        terminal.warn(str(caveat))
    _show(terminal, study, found)
    for path in (out, certificates):
        if path is not None:
            terminal.say(f"wrote {path}")
    terminal.answer(
        {
            "label": study.target.label,
            "bias": study.bias_in_words(),
            "labels": study.count(request.budget),
            "train_rows": study.n_train,
            "data": data_facts(study),
            "columns": column_facts(study),
            "caveats": caveat_dicts(study.caveats),
            "alpha": study.alpha,
            "alpha_choice": None if study.alpha_choice is None else study.alpha_choice.in_words(),
            "coefficients": found,
        }
    )
    return 0


def _sign(coefficient: dict[str, Any]) -> str:
    if coefficient["verdict"] == "undecided":
        return "undecided"
    if not coefficient["keeps_sign"]:
        return "can be lost"
    return "stays positive" if coefficient["value"] > 0 else "stays negative"


def _show(terminal: Terminal, study: Study, found: list[dict[str, Any]]) -> None:
    count = study.count(study.request.budget)
    task = f"{study.target.task}{' of its logarithm' if study.target.log else ''}"
    terminal.say(f"{study.target.label}: {task}; ridge with alpha {study.alpha:g}")
    terminal.say(f"{study.n_train:,} training rows; assumed: {study.bias_in_words()}")
    terminal.say(data_facts(study)["sentence"])
    if study.alpha_choice is not None:
        terminal.say(study.alpha_choice.in_words())
    kept = sum(each["keeps_sign"] for each in found)
    terminal.say(
        f"{kept:,} of {len(found):,} coefficients keep their sign if up to {labels(count)} "
        f"({study.request.budget.text}) {'is' if count == 1 else 'are'} wrong",
        style="bold",
    )
    terminal.say()
    terminal.table(
        ["coefficient", "value", "low", "high", "sign", "flipped by"],
        [
            [
                each["name"],
                f"{each['value']:.4g}",
                f"{each['low']:.4g}",
                f"{each['high']:.4g}",
                _sign(each),
                labels(each["minimum_budget"]),
            ]
            for each in found[:_LINES]
        ],
        left=(0, 4),
    )
    if len(found) > _LINES:
        terminal.say(f"… and {len(found) - _LINES:,} smaller ones: --out FILE.csv has them all")
    terminal.say()
