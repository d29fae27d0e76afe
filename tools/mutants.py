"""Change the mathematics in one place at a time, and say which share of that the tests notice.

A mutant changes one operator or one number in the body of a function: a comparison, a sign of
arithmetic, ``and`` or ``or``, ``not``, a minus, ``min`` or ``max``, the direction of ``nextafter``.
Equally many are drawn from every area of the mathematics, the same ones for the same seed and the
same code. Each is tested in a copy of the tree; the tree itself is never touched::

    python tools/mutants.py --seed 24 --json mutants.json

Tests that are near the area and in small files run first, until one fails. It is run again with the
mutant and without it: only a test that fails with it both times and passes without it kills. Each
selection of tests and each mutant has a limit of processor time, which does not depend on how busy
the machine is. A test that works for a minute with the mutant and passes without it hangs: the
mutant counts as killed, and its line says so. A mutant that changes no result (another size of
blocks, say) survives rightly, so the share never is 100 %.

The same command continues a run that was interrupted, also with a larger ``--number``. Tests run as
``make test`` runs them, with ``--thorough`` as with ``CI=1``. With ``--tree`` the mutants are those
of another folder, such as an older commit, and the Python to run this with is that of its own
environment: areas and tests are listed under their old and new names.
Linux only, because the times of processes are read from ``/proc``.
"""

import argparse
import ast
import contextlib
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

PACKAGE = Path("src/unswayed")

# Packages and modules of every area, under old and new names: those that exist are taken.
AREAS = {
    "core": ["_core"],
    "engines": [
        "certifiers", "budgets", "decisions.py",
        "engines", "margins", "margins.py", "labels", "labels.py",
    ],
    "joint": ["together", "joint"],
    "verify": ["verify"],
}  # fmt: skip

# Tests of every area, what is near and fast first; one list of patterns is one selection.
TESTS = {
    "core": [
        ["tests/core"],
        ["tests/certifiers", "tests/engines"],
        ["tests/extending", "tests/golden", "tests/paper"],
        ["tests/soundness"],
        ["tests/logistic"],
    ],
    "engines": [
        ["tests/certifiers", "tests/engines", "tests/margins"],
        ["tests/extending", "tests/golden", "tests/paper"],
        ["tests/soundness"],
        ["tests/certified", "tests/estimators"],
        ["tests/logistic"],
    ],
    "joint": [
        ["tests/together", "tests/joint"],
        ["tests/extending", "tests/golden"],
        ["tests/verify/test_collective*.py", "tests/verify/test_joint*.py"],
        ["tests/certified", "tests/estimators"],
    ],
    "verify": [
        ["tests/verify"],
        ["tests/golden"],
        ["tests/soundness"],
    ],
}

# Tests that come before these if a word is part of a mutated file's path.
NEARER = {
    "stream": ["tests/*/test_in_pieces.py"],
    "decision": ["tests/*/test_threshold.py", "tests/*/test_relative_bias.py"],
    "margin": ["tests/*/test_threshold.py", "tests/*/test_relative_bias.py"],
    "secant": ["tests/logistic"],
    "gradient": ["tests/logistic"],
    "verify/gradient": ["tests/verify/test_gradient*.py", "tests/verify/test_logarithms.py"],
    "verify/collective": ["tests/verify/test_collective*.py"],
    "verify/joint": ["tests/verify/test_collective*.py", "tests/verify/test_joint*.py"],
}  # fmt: skip

# Tests of memory, interrupts and processes: slow, or no matter of mathematics.
LEFT_OUT = (
    "test_out_of_memory.py", "test_memory.py", "test_collective_memory.py", "test_interrupt.py",
    "test_progress.py", "test_other_paths.py", "test_independence.py",
)  # fmt: skip

COMPARISONS = {
    ast.Lt: ("<", ["<=", ">="]),
    ast.LtE: ("<=", ["<", ">"]),
    ast.Gt: (">", [">=", "<="]),
    ast.GtE: (">=", [">", "<"]),
    ast.Eq: ("==", ["!="]),
    ast.NotEq: ("!=", ["=="]),
}
ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
OPPOSITE = {
    "+": "-", "-": "+", "*": "/", "/": "*", "and": "or", "or": "and",
    "min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum",
    "fmin": "fmax", "fmax": "fmin",
}  # fmt: skip
TEXTS = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)  # added to, but no numbers


@dataclass(frozen=True)
class Site:
    """One place in a file that can be changed, and into what."""

    start: int  # in bytes
    end: int
    options: tuple[str, ...]


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    area: str
    file: str  # inside the tree
    line: int
    start: int  # in bytes
    old: str
    new: str
    source: str  # the line that it changes

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old} → {self.new}    `{self.source}`"

    @property
    def key(self) -> str:
        """Name it in the file of results."""
        return f"{self.file} {self.start}: {self.old} → {self.new}"

    def apply(self, text: bytes) -> bytes:
        """Return the text of the file with the change."""
        end = self.start + len(self.old.encode())
        return text[: self.start] + self.new.encode() + text[end:]


class Sites(ast.NodeVisitor):
    """Places in function bodies that can be changed; types and texts of errors are left alone."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.lines = [0]
        for line in text.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))
        self.inside = False
        self.found: list[Site] = []
        self.visit(ast.parse(text))

    def start(self, node: Any) -> int:
        """Return where a node starts."""
        return self.lines[node.lineno - 1] + node.col_offset

    def end(self, node: Any) -> int:
        """Return where a node ends."""
        return self.lines[node.end_lineno - 1] + node.end_col_offset

    def add(self, start: int, end: int, *options: str) -> None:
        """Note a place, if it is in the body of a function."""
        if self.inside and options:
            self.found.append(Site(start, end, options))

    def add_operator(self, left: ast.AST, right: ast.AST, old: str, options: Iterable[str]) -> None:
        """Note an operator between two nodes."""
        between = self.text[self.end(left) : self.start(right)]
        between = re.sub(rb"#[^\n]*", lambda comment: b" " * len(comment[0]), between)
        at = self.end(left) + between.index(old.encode())
        self.add(at, at + len(old), *options)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Look into the body only: no defaults, no decorators, no types."""
        before, self.inside = self.inside, True
        for statement in node.body:
            self.visit(statement)
        self.inside = before

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Leave the type alone."""
        if node.value is not None:
            self.visit(node.value)

    def visit_Assert(self, node: ast.Assert) -> None:
        """Leave the message alone."""
        self.visit(node.test)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Leave errors alone."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave texts alone."""

    def visit_Constant(self, node: ast.Constant) -> None:
        """Change a number."""
        value = node.value
        if type(value) is int:
            near = [value + 1, value - 1] if 0 < value < 1000 else [2 * value, value // 2]
            self.add(self.start(node), self.end(node), *map(str, near if value else [1]))
        elif type(value) is float:
            near = [2 * value, value / 2] if value else [1.0]
            self.add(self.start(node), self.end(node), *map(repr, near))

    def visit_Compare(self, node: ast.Compare) -> None:
        """Change one comparison of a chain."""
        operands = [node.left, *node.comparators]
        for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
            if type(operator) in COMPARISONS:
                self.add_operator(left, right, *COMPARISONS[type(operator)])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Change a sign of arithmetic."""
        sign = ARITHMETIC.get(type(node.op))
        if sign and not is_text(node.left) and not is_text(node.right):
            self.add_operator(node.left, node.right, sign, [OPPOSITE[sign]])
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Change the sign before ``=``."""
        sign = ARITHMETIC.get(type(node.op))
        if sign and not is_text(node.value):
            self.add_operator(node.target, node.value, sign, [OPPOSITE[sign]])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Change one ``and`` or ``or``."""
        word = "and" if isinstance(node.op, ast.And) else "or"
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.add_operator(left, right, word, [OPPOSITE[word]])
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Leave out a ``not`` or a minus."""
        length = {ast.Not: 3, ast.USub: 1}.get(type(node.op), 0)
        if length:
            self.add(self.start(node), self.start(node) + length, "")
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        """Change ``min`` and ``max``."""
        if node.id in ("min", "max"):
            self.add(self.start(node), self.end(node), OPPOSITE[node.id])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Change ``np.minimum``, ``array.max`` and the like."""
        if node.attr in OPPOSITE:
            self.add(self.end(node) - len(node.attr), self.end(node), OPPOSITE[node.attr])
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Change the direction of ``nextafter``; leave warnings alone."""
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in ("warn", "cast"):
            return
        if name == "nextafter" and len(node.args) > 1:
            start, end = self.start(node.args[1]), self.end(node.args[1])
            self.add(start, end, f"-({self.text[start:end].decode()})")
        self.generic_visit(node)


def is_text(node: ast.AST) -> bool:
    """Return whether a sum of this is no arithmetic."""
    return isinstance(node, TEXTS) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def mutants_of(tree: Path, area: str, seed: int) -> Iterator[Mutant]:
    """Yield one mutant of every place of an area, in random order."""
    places = []
    for name in AREAS[area]:
        top = tree / PACKAGE / name
        for path in sorted(top.rglob("*.py")) if top.is_dir() else [top] * top.is_file():
            text = path.read_bytes()
            places += [
                (path.relative_to(tree).as_posix(), text, each) for each in Sites(text).found
            ]
    draw = random.Random(f"{seed} {area}")  # noqa: S311
    draw.shuffle(places)
    for file, text, site in places:
        line = text.count(b"\n", 0, site.start)
        mutant = Mutant(
            area=area,
            file=file,
            line=line + 1,
            start=site.start,
            old=text[site.start : site.end].decode(),
            new=draw.choice(site.options),
            source=text.splitlines()[line].decode().strip(),
        )
        if is_change(text, mutant.apply(text)):
            yield mutant


def is_change(before: bytes, after: bytes) -> bool:
    """Return whether a text can still be read and says something else."""
    try:
        return ast.dump(ast.parse(before)) != ast.dump(ast.parse(after))
    except SyntaxError:
        return False


def draw_mutants(tree: Path, number: int, seed: int) -> list[Mutant]:
    """Return equally many mutants of every area, the areas in turn."""
    each = [list(islice(mutants_of(tree, area, seed), number // len(AREAS))) for area in AREAS]
    return [mutant for turn in zip(*each, strict=True) for mutant in turn]


def files_of(tree: Path, patterns: list[str]) -> list[str]:
    """Return the test files that patterns name, in order, but those that are left out."""
    found = []
    for pattern in patterns:
        for path in sorted(tree.glob(pattern)):
            inside = sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
            found += [each for each in inside if each.name not in LEFT_OUT]
    return [path.relative_to(tree).as_posix() for path in dict.fromkeys(found)]


def selections(tree: Path, mutant: Mutant) -> list[list[str]]:
    """Return lists of test files in the order in which they are run, each file once.

    In every list, files that are named like the mutated one come first, then the smaller ones.
    """

    def order(file: str) -> tuple[bool, int]:
        return not named_alike(file, mutant), (tree / file).stat().st_size

    words = sorted((word for word in NEARER if word in mutant.file), key=len, reverse=True)
    patterns = [*[NEARER[word] for word in words], *TESTS[mutant.area]]
    seen: set[str] = set()
    chosen = []
    for each in patterns:
        new = [file for file in files_of(tree, each) if file not in seen]
        seen.update(new)
        if new:
            chosen.append(sorted(new, key=order))
    return chosen


def named_alike(test: str, mutant: Mutant) -> bool:
    """Return whether a test file has a word of the path of the mutated file in its name."""
    words = Path(test).stem.removeprefix("test_").split("_")
    return any(len(word) > 3 and word.rstrip("s") in mutant.file for word in words)


# What follows up to the next comment is called by pytest, in the process of the tests: it loads
# this file as a plugin.


def processor_time() -> float:
    """Return the seconds that this process and its ended children have worked."""
    return sum(os.times()[:4])


def tell(**what: object) -> None:
    """Write a line for the process that waits."""
    with Path(os.environ["MUTANTS_PROGRESS"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps({**what, "at": processor_time()}) + "\n")


def pytest_sessionstart() -> None:
    """Stop at the first counterexample: making it smaller takes minutes and changes nothing."""
    from hypothesis import Phase, settings  # noqa: PLC0415

    phases = (Phase.explicit, Phase.generate)
    settings.register_profile("mutants", parent=settings(), phases=phases)
    settings.load_profile("mutants")


def pytest_runtest_logstart(nodeid: str) -> None:
    """Say which test runs."""
    tell(test=nodeid)


def pytest_runtest_logreport(report: Any) -> None:
    """Say that a test failed."""
    if report.failed:
        tell(failed=report.nodeid)


def pytest_collectreport(report: Any) -> None:
    """Say that a file of tests could not be read."""
    if report.failed:
        tell(failed=report.nodeid)


def pytest_sessionfinish() -> None:
    """Say when the last test ended."""
    tell(test=None)


# The process that waits.


@dataclass
class Outcome:
    """How a run of tests ended."""

    ending: str  # passed, failed, hangs, out of time
    test: str | None  # the one that failed or hangs
    seconds: float
    failed: list[str]


def session_time(session: int) -> float:
    """Return the processor time of all processes of a session and of their ended children."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def is_stopped(process_id: int) -> bool:
    """Return whether somebody has told a process to pause."""
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rsplit(")", 1)[1].split()[0] in "Tt"
    except OSError:
        return False


def read_progress(path: Path) -> tuple[list[str], str | None, float]:
    """Return failed tests, and the running one with its start."""
    failed: list[str] = []
    running, since = None, 0.0
    for line in path.read_text(encoding="utf-8").split("\n")[:-1]:
        told = json.loads(line)
        if "failed" in told:
            failed.append(told["failed"])
        else:
            running, since = told["test"], told["at"]
    return failed, running, since


WAITS = 900  # seconds without any work after which tests are said to hang
HANGS = 60  # seconds of processor time after which one test is said to hang

# An editable install finds the package in the tree that it was made from, whatever the path says.
FORGET_EDITABLE = """import sys
sys.meta_path[:] = [each for each in sys.meta_path if "editable" not in type(each).__module__]
"""


class Copy:
    """A copy of the tree in which mutants are made and tested."""

    def __init__(self, tree: Path, scratch: Path, *, thorough: bool) -> None:
        self.home = scratch / "tree"
        self.scratch = scratch
        ignored = shutil.ignore_patterns(
            ".*_cache", ".git", ".venv", "__pycache__", "build", "dist"
        )
        shutil.copytree(tree, self.home, ignore=ignored)
        (scratch / "plugin").mkdir()
        shutil.copy(__file__, scratch / "plugin" / "mutants.py")
        (scratch / "plugin" / "sitecustomize.py").write_text(FORGET_EDITABLE)
        for kernel in Path(sysconfig.get_path("platlib")).glob("unswayed/_core/*.so"):
            shutil.copy(kernel, self.home / PACKAGE / "_core")
        self.environment = {name: value for name, value in os.environ.items() if name != "CI"}
        self.environment |= {
            **({"CI": "1"} if thorough else {}),
            "PYTHONPATH": f"{self.home / 'src'}{os.pathsep}{scratch / 'plugin'}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "MUTANTS_PROGRESS": str(scratch / "progress"),
        }
        # Checked by the text and not by its time, so that a mutant is never taken for the original.
        checked = ["-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "src"]
        subprocess.run([sys.executable, *checked], cwd=self.home, check=True)
        asks = [sys.executable, "-c", "import unswayed; print(unswayed.__file__)"]
        said = subprocess.run(asks, env=self.environment, cwd=scratch, check=True, stdout=-1)
        if not Path(said.stdout.decode().strip()).is_relative_to(self.home):
            sys.exit(f"tests would import {said.stdout.decode().strip()}, which no mutant changes")

    def run(self, files: list[str], left_out: list[str], limit: float) -> Outcome:
        """Run files of tests until one fails, hangs or the time is up."""
        progress = self.scratch / "progress"
        progress.write_text("")
        command = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider"]
        command += ["-o", "timeout=0"]  # of the clock, which runs on while others work
        command += ["-x", "-p", "mutants", f"--basetemp={self.scratch / 'temporary'}"]
        command += [f"--deselect={test}" for test in left_out]
        with (self.scratch / "output").open("w") as output:
            process = subprocess.Popen(
                [*command, *files],
                cwd=self.home,
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                ending, seconds = wait(process, progress, limit)
            finally:
                kill(process)
        failed, running, _ = read_progress(progress)
        test = running if ending == "hangs" else failed[0] if failed else running
        return Outcome(ending, test, seconds, failed)


def wait(process: subprocess.Popen[bytes], progress: Path, limit: float) -> tuple[str, float]:
    """Return how tests ended and the processor time that they took."""
    seconds, idle = 0.0, 0.0
    while process.poll() is None:
        pause = min(0.2 + seconds / 50, 1.0)
        time.sleep(pause)
        now = session_time(process.pid)
        # Counted in pauses and not by the clock: whoever stops this process stops the count.
        idle = 0.0 if now > seconds or is_stopped(process.pid) else idle + pause
        seconds = max(seconds, now)
        if idle > WAITS:
            return "hangs", seconds
        failed, running, since = read_progress(progress)
        if running is not None and not failed and seconds - since > HANGS:
            return "hangs", seconds
        if seconds > limit:
            return "failed" if failed else "out of time", seconds
    # Nothing to collect is no failure.
    return ("passed" if process.returncode in (0, 5) else "failed"), seconds


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and whatever it has left running."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def examine(copy: Copy, mutant: Mutant, left_out: list[str], asked: Any) -> dict[str, Any]:
    """Return what the tests say of a mutant; what fails without it is left out from now on."""
    path = copy.home / mutant.file
    original = path.read_bytes()
    changed = mutant.apply(original)
    seconds, cut = 0.0, []
    todo = selections(copy.home, mutant)
    try:
        while todo:
            left = asked.total - seconds
            if left < 10:
                cut.append(todo[0][0])
                break
            path.write_bytes(changed)
            done = copy.run(todo[0], left_out, min(asked.limit, left))
            seconds += done.seconds
            if done.ending in ("failed", "hangs"):
                # Others may end processes or keep them waiting, so once is not enough.
                single = [done.test] if done.test else todo[0][:1]
                again = copy.run(single, left_out, asked.limit).ending
                path.write_bytes(original)
                if again == done.ending and copy.run(single, [], asked.limit).ending == "passed":
                    return {"killed": True, "by": done.test, "how": again, "seconds": seconds}
                print(f"left out, because it fails once or without a mutant too: {single}")
                left_out += single
                continue
            if done.ending == "out of time":
                cut.append(todo[0][0])
            del todo[0]
    finally:
        path.write_bytes(original)
    return {"killed": False, "by": None, "how": "survived", "seconds": seconds, "cut": cut}


def describe(mutant: Mutant, said: dict[str, Any]) -> str:
    """Return the line of a mutant."""
    what = {
        "failed": f"killed by {said['by'] or 'its import'}",
        "hangs": f"killed, hangs in {said['by']}",
        "survived": "SURVIVED" + (", time was up" if said.get("cut") else ""),
    }[said["how"]]
    return f"[{mutant.area}] {mutant}\n    {what} ({said['seconds']:.0f} s)"


def summary(mutants: list[Mutant], results: dict[str, Any]) -> str:
    """Return a table of areas."""
    counts = {area: Counter[str]() for area in AREAS}
    for mutant in mutants:
        counts[mutant.area][results[mutant.key]["how"]] += 1
    counts["all"] = sum(counts.values(), Counter())
    lines = [
        "| area | mutants | killed | of these by hanging | share |",
        "|---|---:|---:|---:|---:|",
    ]
    for area, count in counts.items():
        number, hang = count.total(), count["hangs"]
        killed = count["failed"] + hang
        share = f"{killed / number:.0%}" if number else "–"
        lines.append(f"| {area} | {number} | {killed} | {hang} | {share} |")
    return "\n".join(lines)


class Record:
    """Results in a JSON file, written after every mutant."""

    def __init__(self, path: Path, digest: str) -> None:
        self.path = path
        self.content: dict[str, Any] = {"digest": digest, "left_out": [], "mutants": {}}
        if path.exists():
            self.content = json.loads(path.read_text(encoding="utf-8"))
            if self.content["digest"] != digest:
                sys.exit(f"{path} holds results of another tree: name another file with --json")

    def save(self) -> None:
        """Write all results."""
        new = self.path.with_name(f"{self.path.name}.new")
        new.write_text(json.dumps(self.content, indent=1, ensure_ascii=False), encoding="utf-8")
        new.replace(self.path)


def digest_of(tree: Path) -> str:
    """Return a digest of the package and its tests."""
    digest = hashlib.sha256()
    for path in sorted([*(tree / "src").rglob("*.py"), *(tree / "tests").rglob("*.py")]):
        digest.update(path.relative_to(tree).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


def main() -> None:
    """Draw mutants, test them and print what the tests say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tree", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--number", type=int, default=60, help="how many, of all areas together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=120, help="seconds for a selection of tests")
    parser.add_argument("--total", type=float, default=240, help="seconds for a mutant")
    parser.add_argument("--json", type=Path, default=Path("mutants.json"))
    parser.add_argument("--thorough", action="store_true", help="run the tests with CI=1")
    parser.add_argument("--draw", action="store_true", help="print the mutants, and test nothing")
    asked = parser.parse_args()
    tree = asked.tree.resolve()
    mutants = draw_mutants(tree, asked.number, asked.seed)
    if asked.draw:
        for mutant in mutants:
            print(f"[{mutant.area}] {mutant}")
        return
    sys.stdout.reconfigure(line_buffering=True)
    record = Record(asked.json, digest_of(tree))
    results = record.content["mutants"]
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        copy = Copy(tree, Path(scratch), thorough=asked.thorough)
        for number, mutant in enumerate(mutants, 1):
            if mutant.key not in results:
                results[mutant.key] = {
                    **asdict(mutant),
                    **examine(copy, mutant, record.content["left_out"], asked),
                }
                record.save()
            print(f"{number}/{len(mutants)} {describe(mutant, results[mutant.key])}")
    print(summary(mutants, results))
    record.save()


if __name__ == "__main__":
    main()
