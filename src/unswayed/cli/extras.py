"""What to install when a part that only some commands need is missing."""

import sys

_EXTRAS = {
    "cyclopts": "cli",
    "rich": "cli",
    "pyarrow": "cli",
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


def complain(error: ModuleNotFoundError) -> int:
    """Tell the user which extra to install for a missing module.

    Parameters
    ----------
    error : ModuleNotFoundError

    Returns
    -------
    int
        Exit code 2.

    Raises
    ------
    ModuleNotFoundError
        The same error, if the module belongs to no extra: that is a bug.
    """
    missing = (error.name or "").split(".")[0]
    if missing not in _EXTRAS:
        raise error
    sys.stderr.write(
        f"unswayed: error: this command needs {missing}, which is not installed; "
        f"pip install 'unswayed[{_EXTRAS[missing]}]'\n"
    )
    return 2
