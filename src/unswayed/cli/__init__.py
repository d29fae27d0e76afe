"""The command line: options, a question, a way to show the answer.

`options`, `commands` and `checks` are, beside `program`, all that a ``--help`` imports; the package
itself is imported for every ``--help`` and ``--version``, so it imports nothing but the standard
library.

`options`   every option, declared once
`commands`  which options each command has, and which module answers it
`checks`    the same of commands about labels that people check: review, audit, sample
`program`   finds the command, runs it, and turns what goes wrong into one line
`requests`  from options to a request and to its study
`searching` what does not go with an alpha that all training labels choose
`terminal`  tables, JSON, progress and output files
`show`      what several commands print of facts
`budgets`   what budgets allow, in words
`tour`      commands that need no model: inspect, the tour, the demo, the experiments

One command each:
`certify` and `coefficients`  about single rows, their witnesses, and coefficients
`together`  all test rows at once: fairness and reviews of labels too
`audit` and `sample`  predictions that are confirmed by checking labels
`compare` and `verify`  about models side by side, and certificate files
"""

import ctypes
import sys
from collections.abc import Sequence

from unswayed import __version__

SUMMARY = "Would this prediction survive if some of the training labels were wrong?"

COMMANDS = {
    "inspect": "Show how the columns of a file are read, and what about them could mislead.",
    "certify": "Prove which predictions survive wrong labels, and which do not.",
    "witness": "Show which labels overturn one prediction.",
    "coefficients": "Prove which coefficients keep their sign.",
    "together": "Prove how many predictions one set of wrong labels can overturn.",
    "fairness": "Prove how far wrong labels can move rates and gaps between groups.",
    "review": "Plan which labels to check, and apply what reviewers found.",
    "audit": "Confirm predictions by checking labels that are drawn, without any budget.",
    "sample": "Draw labels at random to check, and say how many may be wrong in all.",
    "verify": "Check a certificate file without trusting the program that wrote it.",
    "compare": "Compare two files, or two settings of one, on the same test rows.",
    "tradeoff": "Weigh accuracy against robustness over the penalty.",
    "reproduce": "Compute every table and figure of the paper again.",
    "tour": "Understand what is proven, in five minutes and seven steps.",
    "demo": "Run an embedded story end to end and write its report.",
}

GAVE_UP = 70
"""Exit code if memory ran out, or a bug was met (EX_SOFTWARE of sysexits.h)."""

_EXTRAS = {
    "cyclopts": "cli,report",
    "rich": "cli,report",
    "pyarrow": "cli,report",
    "altair": "report",
    "dask": "distributed",
    "distributed": "distributed",
    "flint": "exact",
    "fsspec": "distributed",
    "jinja2": "report",
    "matplotlib": "plots",
    "openpyxl": "excel",
    "pandas": "frames",
    "platformdirs": "report",
    "pooch": "datasets",
    "vl_convert": "report",
}

_OVERVIEW = """\
Usage: unswayed COMMAND [OPTIONS]

{summary}

Commands:
{commands}

Options:
  -h, --help            Show this page; after a command, show its common options.
  --help-all            After a command, show all of its options.
  -q, --quiet           After a command, print nothing but errors.
  -V, --version         Show the version.
  --install-completion  Complete commands and options with the tab key in your shell.

Example:
  unswayed certify people.csv --label hired --budget 1% --groups gender --report report.html

Exit codes: 0 fine, 1 a rate below --fail-under, a --limit that is not proven to hold or a false
certificate, 2 bad input, 3 a certificate file that proves nothing, 70 out of memory or a bug in
the program.
"""


def complain(error: ModuleNotFoundError) -> int:
    """Tell the user which extras to install for a missing module; raise if it belongs to none."""
    missing = (error.name or "").split(".")[0]
    if missing not in _EXTRAS:
        raise error
    sys.stderr.write(
        f"unswayed: error: this command needs {missing}, which is not installed; "
        f"pip install 'unswayed[{_EXTRAS[missing]}]'\n"
    )
    return 2


def overview() -> str:
    """Return the page that ``unswayed --help`` shows."""
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {text}" for name, text in COMMANDS.items())
    return _OVERVIEW.format(summary=SUMMARY, commands=commands)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program with the words that follow its name, and return its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["help"]:  # as git and others have it
        given = [*given[1:], "--help"]
    if given in ([], ["--help"], ["-h"], ["--help-all"]):
        sys.stdout.write(overview())
        return 0
    if given in (["--version"], ["-V"]):
        sys.stdout.write(f"unswayed {__version__}\n")
        return 0
    try:
        from unswayed.cli.program import run
    except ModuleNotFoundError as error:
        return complain(error)
    return run(given)


def program() -> None:
    """Run the command line in a process of its own, and end it with the result's exit code."""
    _at_exit(GAVE_UP)
    code = main()
    _at_exit(code)
    sys.exit(code)


# ----------------------------------------------------------------------------------------
# The exit code: 1 is said by this program or not at all.
#
# OpenBLAS, when it finds no memory, ends the process itself with C's ``exit(1)``, and so do other
# libraries; to whoever reads the exit code that would be a rate below ``--fail-under``. No Python
# code runs after ``exit``, but C's own exit handlers do, the latest first. So one is left there
# that ends the process at once with a code of its own, and a result, once there is one, is put on
# top.


def _at_exit(code: int) -> None:
    """Have C call ``_exit(code)`` before any other exit handler there is now.

    `__cxa_atexit` belongs to the C++ ABI of Linux and macOS. Elsewhere nothing is done: results
    are right, but a library that calls ``exit(1)`` is not told from them.
    """
    try:
        library = ctypes.CDLL(None)
        end, register = library._exit, library.__cxa_atexit
    except (TypeError, OSError, AttributeError):
        return
    register(ctypes.cast(end, ctypes.c_void_p), ctypes.c_void_p(code), None)
