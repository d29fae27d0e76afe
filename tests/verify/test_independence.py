"""The checker stands on its own and can be read in one sitting."""

import ast
import io
import subprocess
import sys
import tokenize
from pathlib import Path

import unswayed.verify

FOLDER = Path(unswayed.verify.__file__).parent
LEFT_OUT = (
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
)  # fmt: skip


def docstring_lines(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            yield from range(node.body[0].lineno, node.body[0].end_lineno + 1)


def code_lines(path):
    source = path.read_text()
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in LEFT_OUT
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(lines - set(docstring_lines(source)))


def test_it_has_fewer_than_five_hundred_lines_of_code():
    assert sum(map(code_lines, FOLDER.glob("*.py"))) < 500


def test_importing_it_imports_nothing_but_itself_and_the_standard_library():
    code = (
        "import sys; before = set(sys.modules); import unswayed.verify; "
        "new = {name for name in set(sys.modules) - before}; "
        "own = {name for name in new if name.startswith('unswayed')}; "
        "assert {n for n in own if not n.startswith('unswayed.verify')} == {'unswayed'}, own; "
        "others = {name.split('.')[0] for name in new} - set(sys.stdlib_module_names); "
        "assert others == {'unswayed'}, others"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
