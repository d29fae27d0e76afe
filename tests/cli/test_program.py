"""The program itself: help, version, missing parts, interruption, whole files."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from tests.commands import CLASSES, people, seconds_of_work, unswayed, unswayed_here
from unswayed import __version__
from unswayed.atomic import atomic_write
from unswayed.cli import COMMANDS, overview
from unswayed.cli.program import build


def python(code, *arguments, cwd):
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=cwd, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def test_help_and_version_cost_no_parser_and_no_numerics(tmp_path):
    heavy = "('cyclopts', 'rich', 'numpy', 'sklearn', 'pyarrow')"
    for flag, expected in (("--help", overview()), ("--version", f"unswayed {__version__}\n")):
        code = (
            "import sys; from unswayed.cli import main; code = main(sys.argv[1:]); "
            f"assert not [m for m in {heavy} if m in sys.modules]; sys.exit(code)"
        )
        done = python(code, flag, cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")


LEAVES = [*(name for name in COMMANDS if name != "review"), "review plan", "review apply"]
HELP = """
import contextlib, io, json, sys
from unswayed.cli import main
pages = {}
for command in sys.argv[1:]:
    for flag in ("--help", "--help-all"):
        with contextlib.redirect_stdout(io.StringIO()) as page:
            code = main([*command.split(), flag])
        heavy = [m for m in ("sklearn", "scipy", "pandas", "pyarrow") if m in sys.modules]
        pages[f"{command} {flag}"] = (code, page.getvalue(), heavy)
json.dump(pages, sys.stdout)
"""


@pytest.fixture(scope="module")
def help_pages(tmp_path_factory):
    """All pages of help: exit code, text, and the libraries that were imported until then."""
    done = python(HELP, *LEAVES, "review", cwd=tmp_path_factory.mktemp("help"))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", [*LEAVES, "review"])
def test_no_help_waits_for_scikit_learn_scipy_pandas_or_pyarrow(help_pages, name):
    for flag in ("--help", "--help-all"):
        code, page, heavy = help_pages[f"{name} {flag}"]
        assert (code, heavy) == (0, [])
        assert page.startswith(f"Usage: unswayed {name}")


RUN = """
import json, sys
from unswayed.cli import main
code = main(sys.argv[2:])
print(json.dumps([code, [m for m in sys.argv[1].split(",") if m in sys.modules]]))
"""


def test_a_command_imports_only_the_libraries_that_it_needs(tmp_path):
    people().to_csv(tmp_path / "people.csv", index=False)
    asked = ("certify", "people.csv", *CLASSES, "--certificates", "c.json", "--quiet")
    checked = ("verify", "c.json", "--train", "people.csv", "--quiet")
    for words, heavy in (
        (asked, "altair,vl_convert,jinja2,matplotlib,dask,flint"),
        (checked, "altair,jinja2,matplotlib,pandas,scipy,sklearn"),
    ):
        done = python(RUN, heavy, *words, cwd=tmp_path)
        assert json.loads(done.stdout.splitlines()[-1]) == [0, []], done.stderr


def options_on(page):
    """Names of the options that a page of help shows."""
    return re.findall(r"^│ (?:\*  |   )?(--[\w-]+)", page, re.MULTILINE)


@pytest.mark.parametrize("name", LEAVES)
def test_help_shows_common_options_and_counts_those_that_help_all_shows(help_pages, name):
    few, every = (help_pages[f"{name} {flag}"][1] for flag in ("--help", "--help-all"))
    shown, all_of_them = options_on(few), options_on(every)
    assert len(set(all_of_them)) == len(all_of_them)
    assert shown == all_of_them[: len(shown)]  # the common ones come first
    more = len(all_of_them) - len(shown)
    counted = re.findall(r"^(\d+) more options: (.*)$", few, re.MULTILINE)
    assert counted == ([(str(more), f"unswayed {name} --help-all")] if more else [])
    assert "more option" not in every
    if "--label" in all_of_them:
        common = {"--label", "--budget", "--groups", "--report"} & set(all_of_them)
        assert common <= set(shown)


@pytest.mark.parametrize("name", LEAVES)
def test_texts_of_help_are_aligned_in_all_panels(help_pages, name):
    page = help_pages[f"{name} --help-all"][1]
    for line in (line for line in page.splitlines() if line.startswith("│")):
        assert line[25:27].isspace(), line
        assert not line[27].isspace(), line


@pytest.mark.parametrize(
    ("command", "option", "reason"),
    [
        ("together", "--model", "linear in their labels"),
        ("fairness", "--C", "linear in their labels"),
        ("review plan", "--method", "always answered in one way"),
        ("review apply", "--resolve", "always answered in one way"),
        ("coefficients", "--folds", "an option of certify, witness, together, fairness"),
    ],
)
def test_what_a_command_would_refuse_it_does_not_offer(
    help_pages, tmp_path, command, option, reason
):
    assert option not in options_on(help_pages[f"{command} --help-all"][1])
    done = unswayed_here(*command.split(), "people.csv", option, "1", cwd=tmp_path)
    assert done.returncode == 2
    assert f"{command} has no {option}" in done.stderr
    assert reason in done.stderr


def test_the_script_and_the_module_are_the_same_program(tmp_path):
    script = os.path.join(os.path.dirname(sys.executable), "unswayed")
    done = subprocess.run([script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == unswayed(cwd=tmp_path).stdout == overview()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_opens_with_its_summary_and_shows_an_example(name):
    app = build()[name]
    assert app.help.splitlines()[0] == COMMANDS[name]
    assert f"Example: unswayed {name}" in app.help


@pytest.mark.parametrize("name", COMMANDS)
def test_help_breaks_lines_only_where_the_terminal_ends(name, capsys):
    build().help_print([name], console=Console(width=2000, force_terminal=False, color_system=None))
    lines = [line[1:-1] for line in capsys.readouterr().out.splitlines() if line[:1] == "│"]
    assert bool(lines) == (name != "tour")  # which has no options
    for line in lines:  # "*" marks what is required
        assert re.match(r" (\* |  )? ?[-\w]+ +\S", line), line


def test_completion_scripts_know_the_commands_and_their_options():
    script = build().generate_completion(shell="bash")
    for word in (*COMMANDS, "--fail-under"):
        assert word in script


def test_a_missing_part_is_named_with_the_extra_that_brings_it(tmp_path):
    code = (
        "import sys; sys.modules[sys.argv[1]] = None; from unswayed.cli import main; "
        "sys.exit(main(sys.argv[2:]))"
    )
    done = python(code, "altair", "demo", "--quiet", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "unswayed: error: this command needs altair, which is not installed; "
        "pip install 'unswayed[report]'"
    ]
    assert not (tmp_path / "unswayed-report.html").exists()


def test_without_extras_every_command_says_in_one_line_how_to_get_them(tmp_path):
    code = (
        "import sys; from unswayed import cli; sys.modules |= dict.fromkeys(cli._EXTRAS); "
        "print([cli.main([name, *more]) for name in cli.COMMANDS for more in ([], ['--help'])])"
    )
    done = python(code, cwd=tmp_path)
    assert done.stdout == f"{[2] * 2 * len(COMMANDS)}\n"
    assert set(done.stderr.splitlines()) == {
        "unswayed: error: this command needs cyclopts, which is not installed; "
        "pip install 'unswayed[cli,report]'"
    }


def wait_until_it_works(process_id):
    """Wait until the program has its own handler of SIGTERM, and some seconds of work behind it."""
    status = Path(f"/proc/{process_id}/status")
    caught = 0
    while not caught >> (signal.SIGTERM - 1) & 1:
        time.sleep(0.1)
        (caught,) = (
            int(line.split()[1], 16)
            for line in status.read_text().splitlines()
            if line.startswith("SigCgt")
        )
    while seconds_of_work(process_id) < 4:
        time.sleep(0.1)


@pytest.mark.skipif(sys.platform != "linux", reason="reads processor times in Linux's way")
@pytest.mark.usefixtures("heard_signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_leaves_no_file_and_no_traceback(folder, number, code):
    alphas = ",".join(map(str, range(1, 2000)))
    command = ["tradeoff", "people.csv", *CLASSES, "--alphas", alphas, "--out", "out.csv"]
    with subprocess.Popen(
        [sys.executable, "-m", "unswayed", *command],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as running:  # fmt: skip
        wait_until_it_works(running.pid)
        assert running.poll() is None
        for _ in range(5):
            # Again, as a person would: a library that is being imported may swallow the first.
            running.send_signal(number)
            try:
                _, error = running.communicate(timeout=60)
                break
            except subprocess.TimeoutExpired:
                continue
        else:
            running.kill()
    assert running.returncode == code
    assert error == "unswayed: interrupted; no file was left half-written\n"
    assert [path.name for path in folder.iterdir()] == ["people.csv"]


def test_a_file_that_could_not_be_finished_never_gets_its_name(tmp_path):
    target = tmp_path / "out.txt"
    target.write_text("before")

    def interrupted():
        with atomic_write(target) as beside:
            beside.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
    assert target.read_text() == "before"
