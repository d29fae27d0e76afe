"""Atomic writing: a file appears whole or not at all."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a temporary file name beside `path`, and rename that file to `path` at the end.

    After an error `path` is as it was before, and the temporary file is deleted.
    """
    path = path.resolve()
    beside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.part")
    try:
        yield beside
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def private_folder(path: Path) -> None:
    """Make a folder, unless it is there, that nobody else may look into."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
