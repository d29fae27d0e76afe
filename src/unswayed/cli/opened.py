"""Opening a study: of a file in memory, of folds, or of rows in pieces."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unswayed.cli.terminal import Terminal
from unswayed.exceptions import InputError
from unswayed.study.folds import open_fold, open_folds
from unswayed.study.opening import open_study
from unswayed.study.request import Request
from unswayed.study.study import Study


@contextmanager
def opened_study(request: Request, terminal: Terminal, row: int | None = None) -> Iterator[Study]:
    """Open the study that a request is about, and close it in the end.

    Parameters
    ----------
    request : Request
    terminal : Terminal
    row : int, optional
        The only row that is asked about, where it is in a fold.

    Yields
    ------
    Study
    """
    if request.in_pieces is not None:
        with _resumable(request, terminal):
            from unswayed.study.in_pieces import open_pieces

            study: Study = open_pieces(request, terminal)
            try:
                yield study
            finally:
                study.close()
    elif request.folds is None:
        yield open_study(request, terminal)
    elif row is None:
        yield open_folds(request, terminal)
    else:
        yield open_fold(request, row, terminal)


@contextmanager
def _resumable(request: Request, terminal: Terminal) -> Iterator[None]:
    """Say how to go on if the run is interrupted."""
    try:
        yield
    except Exception:
        raise
    except BaseException:  # a signal
        assert request.in_pieces is not None  # noqa: S101
        folder = request.in_pieces.resume
        if folder is not None:
            terminal.note(f"{folder} has what was found; give the same command again to go on")
        raise


def check_beside(path: Path | None, option: str, request: Request) -> None:
    """Raise if an output file would be, or become, one of the files of training rows.

    Parameters
    ----------
    path : Path or None
    option : str
        Name of the option, for the error.
    request : Request

    Raises
    ------
    InputError
    """
    if path is None or request.in_pieces is None:
        return
    source = request.in_pieces.source
    if os.path.isdir(source) and path.resolve().is_relative_to(Path(source).resolve()):
        raise InputError(
            f"{option} {path} is in the folder of the training rows, and would be taken for one "
            "of its files the next time; choose another folder"
        )
    from unswayed.pieces.paths import find_files

    if any(Path(file.path) == path.resolve() for file in find_files(source)):
        raise InputError(f"{option} {path} would overwrite the input; choose another name")
