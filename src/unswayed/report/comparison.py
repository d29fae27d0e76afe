"""A comparison to one HTML file: no scripts, no network, text from files is only ever text."""

from typing import Any

from unswayed.report.render import page_environment

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def render_comparison(facts: dict[str, Any]) -> str:
    """Return the page of a comparison."""
    return page_environment().get_template("compare.html").render(facts=facts, policy=_POLICY)
