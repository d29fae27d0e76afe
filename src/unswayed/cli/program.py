"""The program: finds the command, runs it, and turns what goes wrong into one line."""

import contextlib
import errno
import os
import signal
import sys
import textwrap
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

from cyclopts import App, ArgumentCollection, CycloptsError, UnknownOptionError
from cyclopts.help import DefaultFormatter, HelpEntry, HelpPanel
from cyclopts.help.specs import AsteriskColumn, ColumnSpec, DescriptionRenderer, NameRenderer

from unswayed import __version__
from unswayed.cli import COMMANDS, GAVE_UP, SUMMARY, checks, commands, complain
from unswayed.cli.options import HELP_FLAGS, MORE, REASONS
from unswayed.cli.terminal import given
from unswayed.exceptions import UnswayedError, VacuousWarning
from unswayed.words import counted, without_secrets


class HelpPage(DefaultFormatter):
    """Help whose columns are aligned and whose lines end where the terminal does.

    Without `everything`, options that few people need are counted and not shown.
    """

    def __init__(self, *, everything: bool) -> None:
        super().__init__(column_specs=_columns)
        self.everything, self.hidden = everything, 0

    def __call__(self, console: Any, options: Any, panel: HelpPanel) -> None:
        """Print a panel of options, or count those of one that is not shown."""
        if not self.everything and panel.title in _MORE:
            self.hidden += len(panel.entries)
            return
        for entry in panel.entries:
            text = getattr(entry.description, "primary_renderable", None)
            if text is not None:
                text.plain = " ".join(text.plain.split())
        # What is on anyway can only be turned off.
        panel.entries = [
            entry.copy(positive_names=()) if entry.negative_names else entry
            for entry in panel.entries
        ]
        super().__call__(console, options, panel)

    def render_description(self, console: Any, options: Any, description: Any) -> None:
        """Print the paragraphs of a help text; the later lines of an example are indented."""
        text = getattr(description, "primary_renderable", description)
        for paragraph in str(text or "").strip().split("\n\n"):
            head, sign, _ = paragraph.partition(": ")
            indent = " " * len(head + sign) if head == "Example" else ""
            filled = textwrap.fill(
                " ".join(paragraph.split()),
                console.width,
                subsequent_indent=indent,
                break_long_words=False,
                break_on_hyphens=False,
            )
            console.print(f"{filled}\n", markup=False, highlight=False, soft_wrap=True)


_MORE = [group.name for group in MORE]
_NAMES = 23  # characters of the column of names


def _columns(console: Any, options: Any, entries: list[HelpEntry]) -> tuple[ColumnSpec, ...]:
    """Return the columns of a panel: names, equally wide in all panels, and texts."""
    mark = (AsteriskColumn,) if any(entry.required for entry in entries) else ()
    width = _NAMES - 3 * len(mark)
    return (
        *mark,
        ColumnSpec(renderer=NameRenderer(max_width=width), style="cyclopts.name", width=width),
        ColumnSpec(renderer=DescriptionRenderer(), overflow="fold"),
    )


class HelpApp(App):
    """A parser that shows a page of help, and so reads the options of a command only once."""

    def assemble_argument_collection(
        self, *, default_parameter: Any = None, parse_docstring: bool = False
    ) -> ArgumentCollection:
        """Return the options of this command with their texts."""
        made: ArgumentCollection | None = self.__dict__.get("_made")
        if made is None:
            made = super().assemble_argument_collection(
                default_parameter=default_parameter, parse_docstring=True
            )
            self.__dict__["_made"] = made
        return made


def build(*, everything: bool = True, helps: bool = False) -> App:
    """Make the parser; what answers a command is imported when the command is called."""
    app = (HelpApp if helps else App)(
        name="unswayed",
        help=SUMMARY,
        version=f"unswayed {__version__}",
        help_flags=HELP_FLAGS,
        help_format="plaintext",
        help_formatter=HelpPage(everything=everything),
        suppress_keyboard_interrupt=False,  # it would end the program without a word
    )
    for name in COMMANDS:
        where = checks if hasattr(checks, name) else commands
        app.command(getattr(where, name), name=name)
    app.register_install_completion_command(add_to_startup=False)
    return app


def _no_option(app: App, error: UnknownOptionError, arguments: list[str]) -> str:
    """Say that a command has no such option, why, and which commands have it."""
    option = str(error.token.keyword or error.token.value).split("=")[0]
    command = _command(app, arguments).removeprefix("unswayed").strip()
    reason = REASONS.get(command, {}).get(option)
    if reason is not None:
        return f"{command} has no {option}: {reason}; leave {option} out"
    having = [name for name in COMMANDS if name != command and _has(app[name], option)]
    if command and having:
        return f"{command} has no {option}, which is an option of {', '.join(having)}"
    return str(error)


def _has(app: App, option: str) -> bool:
    """Return whether a command has an option."""
    if app.default_command is None:
        return False
    return any(option in each.names for each in app.assemble_argument_collection())


# What libraries say when memory, or a thread's share of it, is refused to them.
_STARVED = (
    "failed to map segment",
    "cannot allocate memory",
    "failed to launch worker thread",
    "can't start new thread",
    "bad_alloc",
)


class _Stopped(BaseException):
    """SIGTERM, raised so that half-written files are removed on the way out."""


@contextlib.contextmanager
def _stoppable() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise _Stopped

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def fail(message: object) -> int:
    """Write an error to stderr, as one line, and return exit code 2."""
    line = " ".join(without_secrets(str(message)).split())
    sys.stderr.write(f"unswayed: error: {line}\n")
    return 2


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit code."""
    _open_streams()
    helps = any(flag in arguments for flag in HELP_FLAGS)
    app = build(everything="--help-all" in arguments, helps=helps)
    given.set(arguments)
    try:
        with _stoppable(), warnings.catch_warnings():
            warnings.simplefilter("ignore", VacuousWarning)  # caveats of the answer say it
            result = app(
                arguments, exit_on_error=False, print_error=False, result_action="return_value"
            )
            _tell_hidden(app, arguments)
            sys.stdout.flush()
        return int(result or 0)
    except CycloptsError as error:
        said = str(error)
        if isinstance(error, UnknownOptionError):
            said = _no_option(app, error, arguments)
        return fail(f"{said} ({_command(app, arguments)} --help shows what there is)")
    except ModuleNotFoundError as error:
        return complain(error)
    except UnswayedError as error:
        return fail(error)
    except Exception as error:  # uncaught, it would end the process with 1
        return _unexpected(error)
    except (KeyboardInterrupt, _Stopped) as stop:
        sys.stderr.write("unswayed: interrupted; no file was left half-written\n")
        return 143 if isinstance(stop, _Stopped) else 130


def _tell_hidden(app: App, arguments: list[str]) -> None:
    """Say how many options a page of help has not shown, and how to see them."""
    hidden = getattr(app.help_formatter, "hidden", 0)
    if hidden:
        command = _command(app, arguments)
        sys.stdout.write(f"{counted(hidden, 'more option')}: {command} --help-all\n")


def _open_streams() -> None:
    """Let what is written to a stream that the caller has closed go nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def _unexpected(error: Exception) -> int:
    """Report an error that no command raises on purpose, and return its exit code."""
    if _starved(error):
        sys.stderr.write(
            "unswayed: error: not enough memory; certify fewer rows or columns at a time\n"
        )
        return GAVE_UP
    if isinstance(error, OSError):
        return _system(error)
    if isinstance(error, ImportError):
        return fail(error)
    kind, lines = type(error).__name__, "".join(traceback.format_exception(error))
    text = (
        f"{lines}unswayed: internal error: {kind}: {error}; please report it, with the lines above"
    )
    for argument in given.get():
        text = without_secrets(text, argument)
    sys.stderr.write(f"{text}\n")
    return GAVE_UP


def _starved(error: BaseException | None) -> bool:
    """Return whether an error, or one of its causes, is a lack of memory."""
    while error is not None:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        if any(words in str(error).casefold() for words in _STARVED):
            return True
        error = error.__cause__ or error.__context__
    return False


def _system(error: OSError) -> int:
    if isinstance(error, BrokenPipeError):
        # The reader (head, say) has seen enough; the interpreter must not flush into the pipe.
        sys.stdout = None
        return 0
    where = f"{error.filename}: " if error.filename else ""
    return fail(f"{where}{error.strerror or error}")


def _command(app: App, arguments: list[str]) -> str:
    """Return the command that is called, with the program's name before it."""
    words = [word for word in arguments if not word.startswith("-")]
    return " ".join(["unswayed", *app.parse_commands(words)[0]])
