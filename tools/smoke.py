"""Does an installed unswayed work? Run by the environment it was installed into.

``python smoke.py [--kernel compiled|numpy] [--demo]``: five lines that certify, the type
information, the kernel that was built, and with ``--demo`` the program; without its extras, that
it names them. Nothing of the repository is imported.
"""

import argparse
import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path


def certify() -> None:
    """Run the paper's worked example and a file of one's own."""
    from sklearn.linear_model import LinearRegression  # noqa: PLC0415

    from unswayed import CertifiedRegressor, LabelBias, prediction_range  # noqa: PLC0415

    bias = LabelBias.shifts(1, budget=1)
    model = CertifiedRegressor(LinearRegression(fit_intercept=False), bias=bias, radius=3)
    certificates = model.fit([[1, 0], [0, 1]], [3, 4]).certify([[-1, 2]])
    assert certificates.robust.all(), certificates
    assert prediction_range([-1, 2], [3, 4], bias) == (3.0, 7.0)


def program(folder: Path, *, works: bool) -> None:
    """Run demo and tour in a folder, or see that every command says what to install."""
    from unswayed.cli import COMMANDS  # noqa: PLC0415

    for name in ("demo", "tour") if works else COMMANDS:
        command = [sys.executable, "-m", "unswayed", name]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if not works:
            assert done.returncode == 2, (name, done.stderr)
            assert "pip install 'unswayed[cli,report]'" in done.stderr, (name, done.stderr)
            assert done.stderr.count("\n") == 1, (name, done.stderr)
            continue
        assert done.returncode == 0, (name, done.stderr)
        if name == "tour":
            assert "0 of 200 random attacks overturn it" in done.stdout, done.stdout
        else:
            assert (folder / "unswayed-report.html").stat().st_size > 100_000


def main() -> None:
    """Check, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", choices=["compiled", "numpy"])
    parser.add_argument("--demo", action="store_true")
    asked = parser.parse_args()
    import unswayed  # noqa: PLC0415
    from unswayed._core.kernels import kernel_name  # noqa: PLC0415

    home = Path(unswayed.__file__).parent
    repository = Path(__file__).resolve().parents[1]
    assert not home.is_relative_to(repository / "src"), f"imported from the repository: {home}"
    assert (home / "py.typed").exists()
    assert (home / "_core" / "_selection.pyi").exists()
    kernel = kernel_name()
    assert asked.kernel is None or (kernel == "numpy") == (asked.kernel == "numpy"), kernel
    certify()
    has_program = importlib.util.find_spec("cyclopts") is not None
    if asked.demo or not has_program:
        with tempfile.TemporaryDirectory() as folder:
            program(Path(folder), works=asked.demo)
    print(f"unswayed {unswayed.__version__} works: kernel {kernel}, program {has_program}")


if __name__ == "__main__":
    main()
