"""How the site is built: ``make docs``. Nothing is fetched from a network."""

import importlib
import os
from functools import cached_property
from types import FunctionType
from typing import Any

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


def own_members(module: str, name: str) -> list[tuple[str, str]]:
    """Return directive and name of what this package wrote for a class or its bases."""
    found: dict[str, Any] = {}
    for base in reversed(getattr(importlib.import_module(module), name).__mro__):
        if base.__module__.startswith("unswayed"):
            found |= vars(base)
    said = {member: value for member, value in found.items() if not member.startswith("_")}
    kinds = {
        "autoproperty": (property, cached_property),
        "automethod": (FunctionType, classmethod, staticmethod),
    }
    return [
        (directive, member)
        for directive, kind in kinds.items()
        for member, value in said.items()
        if isinstance(value, kind)
    ]


autosummary_context = {"own_members": own_members}
autodoc_typehints = "none"  # numpydoc says what parameters are
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"  # names of methods fit the margin
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
    "show_prev_next": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}


def setup(app: Any) -> None:
    """Leave blocks of Markdown that name no language, which are what code prints, uncoloured."""

    def read(app: Any, document: str, _: list[str]) -> None:
        if str(app.env.doc2path(document)).endswith(".md"):
            app.env.temp_data["highlight_language"] = "none"

    app.connect("source-read", read)


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
