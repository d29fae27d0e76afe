"""``--alpha search``: what does not go with an alpha that all training labels choose."""

from typing import Any

from unswayed.exceptions import InputError


def check_search(asked: dict[str, Any], *, in_pieces: bool, command: bool) -> None:
    """Raise if something is asked that is not proven of an alpha that the labels choose."""
    model, bias = asked["model"], asked["bias"]
    several = "a search is certified for numbers of any labels"
    one, files = "each alpha has its own", "no file holds the proof of a choice"
    rules = (
        (not command, "this command", "only unswayed certify takes it"),
        (asked["kinds"].model != "ridge", "--model", "it is a search over ridge penalties"),
        (asked["folds"], "--folds", "every fold would make a choice of its own"),
        (in_pieces, "reading training rows in pieces", "a search goes over the rows many times"),
        (model.give_up is not None, "--give-up", "the smallest error decides"),
        (model.validation, "--validation", "all training rows choose"),
        (model.threshold == "balanced", "--threshold balanced", "it moves with the labels too"),
        (asked["method"] in ("box", "sandwich"), "--method", "other bounds are for one alpha"),
        (asked["resolve"], "--resolve", "no search is made in rational arithmetic"),
        (asked.get("certificates"), "--certificates", files),
        (asked.get("noise"), "--noise", "what single labels do is known of one alpha only"),
        (asked.get("with_tradeoff"), "--with-tradeoff", "it is over alphas that are given"),
        (asked.get("base"), "--base", f"coefficients are not certified: {one}"),
        (getattr(bias, "bias", None), "--bias", several),
        (getattr(bias, "clusters", None), "--clusters", several),
        (getattr(bias, "total", None), "--total", several),
        (getattr(bias, "cost", None), "--cost", several),
        (getattr(bias, "error_probability", None), "--error-probability", several),
    )
    for given, option, why in rules:
        if given:
            left = f", or leave {option} out" if option.startswith("--") else ""
            raise InputError(
                f"--alpha search does not go with {option}: {why}; pass --alpha auto or a number"
                f"{left}"
            )
