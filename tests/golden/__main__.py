"""Regenerate the stored files: ``python -m tests.golden``, or only those of the cases named.

Says which files changed. Floats that are the same up to rounding do not count as changed and leave
the stored file as it is, unless it belongs to a certificate file that changed, whose hashes are of
the data and the proof that were written with it. Look at the differences before you commit them:
users will see them too.
"""

import shutil
import sys
import tempfile
import warnings
from pathlib import Path

from tests.golden.cases import CASES
from tests.golden.compare import differences
from tests.golden.record import FILES, record


def regenerate(name: str) -> list[str]:
    """Write the files of a case; return what became of those that are not as they were."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = record(name, Path(folder))
    home, told = FILES / name, []
    home.mkdir(parents=True, exist_ok=True)
    for path in sorted(home.iterdir()):
        if path.name not in kept:
            path.unlink()
            told.append(f"removed {name}/{path.name}")
    changed = {file for file, content in kept.items() if _has_changed(home / file, content)}
    for file in sorted(kept):
        if file in changed:
            told.append(f"{'changed' if (home / file).exists() else 'new'} {name}/{file}")
        if file in changed or _certificate(file) in map(_certificate, changed):
            (home / file).write_bytes(kept[file])
    return told


def _has_changed(path: Path, content: bytes) -> bool:
    return not path.exists() or bool(differences(path.name, path.read_bytes(), content))


def _certificate(file: str) -> str:
    """Return the name that a certificate file shares with its data and its proof."""
    return file.partition(".")[0] if file.startswith("certificate") else file


def main(names: list[str]) -> None:
    for path in sorted(FILES.iterdir()) if FILES.exists() else []:
        if path.name not in CASES:
            shutil.rmtree(path)
            print(f"removed {path.name}")
    told = [line for name in names or CASES for line in regenerate(name)]
    print("\n".join(told) or "nothing changed")


if __name__ == "__main__":
    main(sys.argv[1:])
