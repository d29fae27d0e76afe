"""What users see is what is stored: numbers, sentences, files, pages and what commands print.

``python -m tests.golden`` stores what is seen now.
"""

import ast
import io
import shutil
import warnings

import numpy as np
import pytest

from tests.golden.cases import CASES
from tests.golden.compare import differences
from tests.golden.record import DATA, FILES, HERE, PEOPLE, record, run

MOST_SHOWN = 25  # differences; more would hide what is common to them
CHECKED = sorted(path.parent.name for path in FILES.glob("*/verify.txt"))


@pytest.mark.parametrize("name", CASES)
def test_users_see_what_they_saw(name, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = record(name, tmp_path)
    stored = {path.name: path.read_bytes() for path in sorted((FILES / name).iterdir())}
    assert sorted(found) == sorted(stored)
    differ = [
        line for file, content in stored.items() for line in differences(file, content, found[file])
    ]
    shown = "\n".join(differ[:MOST_SHOWN])
    assert not differ, f"{len(differ)} differences from tests/golden/files/{name}:\n{shown}"


@pytest.mark.parametrize("name", CHECKED)
def test_stored_certificates_are_still_proven(name, tmp_path):
    for folder in (PEOPLE, DATA, FILES / name):
        shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    transcript = (FILES / name / "verify.txt").read_text(encoding="utf-8")
    parts = transcript.split("$ unswayed ")[1:]
    assert len(parts) >= len([*(FILES / name).glob("certificate*.json")]) >= 1
    for part in parts:
        line, _, said = part.partition("\n")
        done = run(line, tmp_path)
        again = f"{done.stdout}(exit code {done.returncode})\n\n"
        assert not differences("verify.txt", said.encode(), again.encode()), line
        assert done.returncode == 0, line


def test_every_stored_folder_has_a_case():
    assert sorted(path.name for path in FILES.iterdir()) == sorted(CASES)
    assert len(CASES) >= 36


def test_cases_use_the_public_face_only():
    for path in HERE.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = [
            node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
        ] + [each.name for node in ast.walk(tree) if isinstance(node, ast.Import)
             for each in node.names]  # fmt: skip
        inside = {name for name in names if name and name.startswith("unswayed")}
        assert inside <= {"unswayed", "unswayed.datasets"}, path.name


# The comparison itself


@pytest.mark.parametrize(
    ("stored", "found"),
    [
        ('{"a": 1.0}', '{"a": 1.00000001}'),
        ('{"a": 1}', '{"a": 1.0}'),
        ('{"a": 1}', '{"a": true}'),
        ('{"a": [1, 2]}', '{"a": [1]}'),
        ('{"a": 1}', '{"a": 1, "b": 1}'),
        ('{"a": "one"}', '{"a": "two"}'),
        ('{"error": 1e-3}', '{"error": 1e-1}'),
        ('{"sha256": "ab"}', '{"sha256": "cd"}'),
    ],
)
def test_what_differs_is_found(stored, found):
    assert differences("a.json", stored.encode(), found.encode())


def test_what_only_rounds_otherwise_is_not_a_difference():
    assert not differences(
        "a.json", b'{"a": 0.1, "error": 1e-9}', b'{"a": 0.1000000000000001, "error": 2e-9}'
    )
    assert not differences("a.txt", b"x / 0.3", b"x / 0.30000000000000004")
    assert differences("a.txt", b"x / 0.3", b"x / 0.3001")
    assert differences("a.txt", b"12 rows", b"13 rows")
    assert not differences("a.txt", b"unswayed 0.2.0\n", b"unswayed 1.0.0\n")


def test_the_numbers_of_a_proof_and_what_they_hash_to_are_no_difference():
    stored, found, other = (_proof(**arrays) for arrays in (
        {"weights": np.zeros((2, 3))}, {"weights": np.ones((2, 3))}, {"weights": np.zeros((3, 2))},
    ))  # fmt: skip
    assert not differences("a.proof.npz", stored, found)
    assert differences("a.proof.npz", stored, other)
    assert differences("a.proof.npz", stored, _proof(dual=np.zeros((2, 3))))
    assert differences("a.npz", stored, found)
    about = '{"proof": {"file": "a.proof.npz", "sha256": "%s", "arrays": []}, "solution": ["%s"]}'
    assert not differences("a.json", (about % ("a", 1)).encode(), (about % ("b", 2)).encode())


def _proof(**arrays):
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()
