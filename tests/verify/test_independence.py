"""The checker stands on its own."""

import ast
import subprocess
import sys
from pathlib import Path

import unswayed.verify

FOLDER = Path(unswayed.verify.__file__).parent
ALLOWED = {*sys.stdlib_module_names, "numpy", "pyarrow"}


def imported(path):
    """Names of all modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def test_its_files_name_nothing_but_itself_the_standard_library_numpy_and_pyarrow():
    for path in FOLDER.rglob("*.py"):
        for name in imported(path):
            own = name.startswith("unswayed.verify")
            assert own or name.split(".")[0] in ALLOWED, (path, name)


def test_importing_it_imports_nothing_but_itself_the_standard_library_and_numpy():
    code = (
        "import sys; before = set(sys.modules); import unswayed.verify; "
        "new = {name for name in set(sys.modules) - before}; "
        "own = {name for name in new if name.startswith('unswayed')}; "
        "assert {n for n in own if not n.startswith('unswayed.verify')} == {'unswayed'}, own; "
        "others = {name.split('.')[0] for name in new} - set(sys.stdlib_module_names); "
        "assert others == {'unswayed', 'numpy'}, others"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
