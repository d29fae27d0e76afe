"""How the site is built: ``make docs``. Nothing is fetched from a network."""

import importlib
import os
import re
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

from docutils import nodes
from sphinx import addnodes

import unswayed

project = "unswayed"
author = "The unswayed developers"
project_copyright = "2026, The unswayed developers"
release = version = unswayed.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["images"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
templates_path = ["_templates"]
nitpicky = False
suppress_warnings = ["config.cache"]

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
myst_url_schemes = ("http", "https", "mailto")

autosummary_generate = True

# What is copied is what one types: no prompts, no outputs.
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"
copybutton_selector = (
    "div[class^=highlight-]:not(.highlight-none) div.highlight pre"
)

FIRST = ("fit", "certify")  # the two methods that everybody needs


def own_members(module: str, name: str) -> list[tuple[str, str]]:
    """Return directive and name of a class's own members, `fit` and `certify` first."""
    found: dict[str, Any] = {}
    for base in reversed(
        getattr(importlib.import_module(module), name).__mro__
    ):
        if base.__module__.startswith("unswayed"):
            found |= vars(base)
    said = {
        member: value
        for member, value in found.items()
        if not member.startswith("_")
    }
    kinds = {
        "autoproperty": (property, cached_property),
        "automethod": (FunctionType, classmethod, staticmethod),
    }
    listed = [
        (directive, member)
        for directive, kind in kinds.items()
        for member, value in said.items()
        if isinstance(value, kind)
    ]
    return sorted(
        listed,
        key=lambda each: (
            FIRST.index(each[1]) if each[1] in FIRST else len(FIRST)
        ),
    )


autosummary_context = {"own_members": own_members}
autodoc_typehints = "none"  # numpydoc says what parameters are
autodoc_member_order = "bysource"
toc_object_entries_show_parents = (
    "hide"  # names of methods fit the margin
)
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = "unswayed"
html_static_path = ["_static"]
html_css_files = ["unswayed.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "unswayed"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}


GLOSSARY = (
    Path(__file__).with_name("glossary.md").read_text(encoding="utf-8")
)
TERMS = re.findall(
    r"^(\w.*)$",
    GLOSSARY.split("```{glossary}")[1].split("```")[0],
    re.MULTILINE,
)
ORDINARY = (
    "audit",
    "effect",
    "facts",
    "lead",
    "together",
)  # words that pages use in their everyday sense, too
# Longest first, so that "minimum budget" is not taken for "budget".
FORMS = [
    (term, re.compile(rf"\b{re.escape(term)}(?:e?s)?\b", re.IGNORECASE))
    for term in sorted(
        {*TERMS} - {*ORDINARY}, key=lambda term: (-len(term), term)
    )
]
UNLINKED = (
    nodes.literal,
    nodes.reference,
    nodes.table,
    addnodes.pending_xref,
    addnodes.glossary,
)


def link_terms(app: Any, document: nodes.document) -> None:
    """Link each term of the glossary where a page first uses it in a paragraph."""
    page = app.env.current_document.docname
    if page in ("index", "glossary") or page.startswith(
        ("development", "gallery", "reproduction")
    ):
        return
    for term, form in FORMS:
        for text in list(document.findall(nodes.Text)):
            above = text.parent
            found = form.search(text)
            plain = isinstance(
                above, nodes.paragraph | nodes.emphasis | nodes.strong
            )
            if found is None or not plain or within(above, UNLINKED):
                continue
            word = nodes.inline(
                found[0], found[0], classes=["xref", "std", "std-term"]
            )
            link = addnodes.pending_xref(
                "",
                word,
                refdomain="std",
                reftype="term",
                reftarget=term,
                refexplicit=True,
            )
            link["refdoc"] = page
            before, after = text[: found.start()], text[found.end() :]
            parts = [nodes.Text(before), link, nodes.Text(after)]
            above.replace(
                text, [part for part in parts if part.astext()]
            )
            break


def within(node: Any, kinds: tuple[type, ...]) -> bool:
    """Return whether a node is of one of these kinds, or inside of one."""
    while node is not None:
        if isinstance(node, kinds):
            return True
        node = node.parent
    return False


def leave_outputs_uncoloured(
    app: Any, document: str, _: list[str]
) -> None:
    """Leave blocks of Markdown that name no language, which are what code prints, uncoloured."""
    if str(app.env.doc2path(document)).endswith(".md"):
        app.env.temp_data["highlight_language"] = "none"


def setup(app: Any) -> None:
    """Connect what this file adds to Sphinx."""
    app.connect("source-read", leave_outputs_uncoloured)
    app.connect("doctree-read", link_terms)


os.environ.setdefault("MPLBACKEND", "agg")
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 10_000,
    "first_notebook_cell": None,
    "image_srcset": ["2x"],
}
