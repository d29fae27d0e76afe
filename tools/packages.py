"""Build a wheel and an sdist and try both as users would: ``make wheel``.

Each is installed into a new environment and run from another folder: the wheel where there is no
compiler, with the program and its demo; the sdist with a compiler, which must build the kernel, and
without one, which must fall back to its NumPy twin.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build" / "packages"
DIST = ROOT / "dist"
LARGEST = 2_000_000  # bytes of a wheel
NO_COMPILER = {"CC": "false", "CXX": "false"}


def run(*command: object, env: Mapping[str, str] | None = None, cwd: Path = WORK) -> None:
    """Run a command; what goes wrong ends the program."""
    subprocess.run([*map(str, command)], cwd=cwd, env=os.environ | (env or {}), check=True)


def environment(name: str) -> Path:
    """Make a new environment and return its interpreter."""
    folder = WORK / name
    venv.create(folder, with_pip=True, clear=True)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def install(python: Path, *what: object, env: Mapping[str, str] | None = None) -> None:
    """Install packages by pip, in the tested versions."""
    pinned = {"PIP_CONSTRAINT": str(ROOT / "constraints.txt")}
    # Not from the cache: pip would take the wheel that it built of the same sdist before.
    quiet = ("--quiet", "--disable-pip-version-check", "--no-cache-dir")
    run(python, "-m", "pip", "install", *quiet, *what, env=pinned | dict(env or {}))


def build() -> tuple[Path, Path]:
    """Build both kinds of package and check their descriptions."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    shutil.rmtree(DIST, ignore_errors=True)
    python = environment("build")
    install(python, "build", "twine")
    run(python, "-m", "build", "--outdir", DIST, ROOT)  # the wheel is built from the sdist
    run(python, "-m", "twine", "check", "--strict", *sorted(DIST.iterdir()))
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    return wheel, sdist


def check_contents(wheel: Path, sdist: Path) -> None:
    """See that the wheel is small, complete and without sources of C++."""
    names = zipfile.ZipFile(wheel).namelist()
    for needed in ("unswayed/py.typed", "unswayed/_core/_selection.pyi"):
        assert needed in names, f"{wheel.name} lacks {needed}"
    assert not [name for name in names if name.endswith((".cpp", ".hpp"))], wheel.name
    assert {name.split("/")[0].split("-")[0] for name in names} == {"unswayed"}, wheel.name
    assert any(name.endswith("LICENSE") for name in names), f"{wheel.name} has no licence"
    size = wheel.stat().st_size
    assert size < LARGEST, f"{wheel.name} has {size:,} bytes; at most {LARGEST:,} are wanted"
    with tarfile.open(sdist) as archive:
        members = archive.getnames()
    for needed in ("_selection.cpp", "/reproduction/reproduce.py"):
        assert any(name.endswith(needed) for name in members), f"{sdist.name} lacks {needed}"
    print(f"{wheel.name}: {size:,} bytes; {sdist.name}: {sdist.stat().st_size:,} bytes")


def try_out(name: str, package: Path, *arguments: str, extras: str = "", compiler: bool) -> None:
    """Install a package into a new environment and run the smoke test there."""
    python = environment(name)
    install(python, f"unswayed{extras} @ {package.as_uri()}", env=None if compiler else NO_COMPILER)
    print(f"{name}: ", end="", flush=True)
    run(python, "-I", ROOT / "tools" / "smoke.py", *arguments, cwd=WORK / name)


def main() -> None:
    """Build, look inside, try out."""
    wheel, sdist = build()
    check_contents(wheel, sdist)
    try_out("wheel", wheel, "--demo", "--kernel=compiled", extras="[cli,report]", compiler=False)
    try_out("sdist", sdist, "--kernel=compiled", compiler=True)
    try_out("sdist-without-compiler", sdist, "--kernel=numpy", compiler=False)
    print("packages: built, installed and tried")


if __name__ == "__main__":
    sys.exit(main())
