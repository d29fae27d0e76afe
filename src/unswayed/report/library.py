"""The charts' JavaScript: put together once, then kept in the user's cache folder.

vl-convert takes two seconds to put it together, longer than certifying takes. What it makes
depends on nothing but its own version, which is part of the file's name.
"""

import contextlib
import hashlib
import importlib.metadata

import platformdirs
import vl_convert

from unswayed.atomic import atomic_write


def chart_library() -> str:
    """Return the script that draws the page's charts.

    Returns
    -------
    str
        Without a cache folder, or with a file in it that is not as it was written, it is made
        again.
    """
    folder = platformdirs.user_cache_path("unswayed")
    path = folder / f"charts-{importlib.metadata.version('vl-convert-python')}.js"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        head, _, script = path.read_bytes().decode().partition("\n")
        if head == _head(script):
            return script
    script = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # it has a default
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as beside:
            beside.write_bytes(f"{_head(script)}\n{script}".encode())
    return script


def _head(script: str) -> str:
    """Return the first line of the file: a hash of the rest."""
    return f"// sha256 {hashlib.sha256(script.encode()).hexdigest()}"
