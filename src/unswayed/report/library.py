"""The charts' JavaScript: put together once, then kept in the user's cache folder.

vl-convert takes two seconds to put it together, longer than certifying takes. What is kept is used
only if it is the script of the installed version, by a hash that is written here; scripts of
versions that are not listed are made each time.
"""

import contextlib
import hashlib
import importlib.metadata
import os
import stat
from pathlib import Path

import platformdirs
import vl_convert

from unswayed.atomic import atomic_write, private_folder

_HASHES = {"1.9.0.post1": "3425bd951a44d478d0505c6b5d1e8d57656b6e9a4da7bfe88a718ce61d76e572"}
"""sha256 of the script that each version of vl-convert makes."""


def chart_library() -> str:
    """Return the script that draws the page's charts: the kept one if it is right, or a new one."""
    version = importlib.metadata.version("vl-convert-python")
    path = platformdirs.user_cache_path("unswayed") / f"charts-{version}.js"
    if version in _HASHES:
        with contextlib.suppress(OSError):
            kept = _read_own(path)
            if hashlib.sha256(kept).hexdigest() == _HASHES[version]:
                return kept.decode()
    script = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # it has a default
    made = script.encode()
    if hashlib.sha256(made).hexdigest() == _HASHES.get(version):
        with contextlib.suppress(OSError):
            private_folder(path.parent)
            if path.is_symlink():  # or the file that it names would be overwritten
                path.unlink()
            with atomic_write(path) as beside:
                beside.write_bytes(made)
    return script


def _read_own(path: Path) -> bytes:
    """Return the bytes of a file; raise OSError if it is a link, or belongs to someone else."""
    number = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0))
    with open(number, "rb") as file:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode) or (
            hasattr(os, "getuid") and found.st_uid != os.getuid()
        ):
            raise PermissionError(f"{path} is not a file of this user")
        return file.read()
