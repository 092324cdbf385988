"""The command line: finds the command, reads its options, and turns every outcome into an exit code.

0 done · 1 done, but a run failed or diverged, a law does not hold, or a check finds something wrong ·
2 the user's mistake · 130 interrupted
"""

import contextlib
import inspect
import os
import re
import shutil
import sys
import textwrap
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Annotated, Union

import tyro

from gnomon import __version__
from gnomon.commands import COMMANDS, Command
from gnomon.commands.output import note
from gnomon.commands.stdout import owned, say, stdout
from gnomon.errors import OptionError, UserError, exit_code, unknown
from gnomon.lab.lossy import Lossy
from gnomon.user_code import told_of_all

ZERO_WIDTH_SPACE = "\u200b"

NARROWEST = 20

ABOUT = """Position encodings for Transformers: which holds past its training length?

Start here:
  gnomon compare          train one small model per encoding, measure, report
  gnomon compare --help   what a command does, its options, examples
  gnomon doctor           whether this installation works, and what to do
  gnomon --version        the version

Exit code: 0 done; 1 done, but a run failed, a law is broken or a check finds
something wrong; 2 a mistake in what was asked; 130 interrupted, the same
command goes on.

GNOMON_TRACEBACK=1 in the environment shows where a mistake was found, line
by line, before it is told."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; nothing is raised for a user's mistake."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115 - closed by whoever started us
    _mind_columns()
    with _unheard():
        return _told(arguments)


def _told(arguments: list[str]) -> int:
    """What becomes of a command line, and what is wrong with it on stderr."""
    try:
        if sys.stdout is None:
            raise UserError("stdout is closed", do="leave it open; `> FILE` keeps what is said, `> /dev/null` drops it")
        with owned():
            return _run(arguments)
    except UserError as error:
        if os.environ.get("GNOMON_TRACEBACK", "0") not in ("", "0"):
            note("".join(traceback.format_exception(error)))
        return _ended(str(error), 2)
    except KeyboardInterrupt as error:
        return _ended(str(error) or "interrupted", 130)
    except OSError as error:
        code = exit_code(error)
        if code is None:
            raise
        return _ended(f"{error.strerror}: {error.filename}", code) if code else code


@contextlib.contextmanager
def _unheard() -> Iterator[None]:
    """Whatever is said on stderr, progress, notes, warnings, the exit code is that of the work, heard or not."""
    before, lossy = sys.stderr, Lossy(sys.stderr)
    sys.stderr = lossy
    try:
        yield
    finally:
        sys.stderr = before
        if lossy.lost:
            # What is left of it would be written once more as Python ends, and change the exit code.
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), before.fileno())


def _ended(why: str, code: int) -> int:
    note("\n".join(_wrapped(f"gnomon: {why}", _width())))
    return code


def _wrapped(text: str, width: int) -> Iterator[str]:
    """Lines of `text` no wider than `width`, what goes on below what begins it; no word and no path is cut."""
    for line in text.splitlines():
        # FILE, line N: MESSAGE stays one line, as editors read it.
        if re.search(r", line \d+: ", line):
            yield line
            continue
        named = re.match(r"  \w+: +|", line)[0]
        below = " " * (len(named) or 2)
        told = line[len(named) :]
        yield from textwrap.wrap(
            told, width, initial_indent=named, subsequent_indent=below, break_long_words=False, break_on_hyphens=False
        ) or [line]


def _mind_columns() -> None:
    """COLUMNS that is no width is as if it were not set: rich reads it as well."""
    columns = os.environ.get("COLUMNS", "")
    if columns and not re.fullmatch(r"0*[1-9][0-9]{0,4}", columns, re.ASCII):
        del os.environ["COLUMNS"]


@contextlib.contextmanager
def _wide_enough() -> Iterator[None]:
    """At least NARROWEST columns for help, and for what is wrong with options: tyro finds no end in fewer than six."""
    before, columns = os.environ.get("COLUMNS"), shutil.get_terminal_size().columns
    if columns >= NARROWEST:
        yield
        return
    os.environ["COLUMNS"] = str(NARROWEST)
    try:
        yield
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before


def _width() -> int:
    """Columns of stderr; 80 where it is no terminal."""
    columns = os.environ.get("COLUMNS", "")
    if columns:
        return int(columns)
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _run(arguments: list[str]) -> int:
    if arguments in (["--version"], ["-V"]):
        say(f"gnomon {__version__}")
        return 0
    try:
        with contextlib.redirect_stdout(stdout()), _wide_enough():
            command = _read(arguments)
    except SystemExit as end:  # tyro has printed help, or what is wrong with the options
        return int(end.code or 0)
    _check(command, arguments)
    with told_of_all():
        return command.run()


def _check(command: Command, arguments: list[str]) -> None:
    """No option is empty: a variable that the shell has not set would be read as this folder, or as no option."""
    for option in fields(command):
        value = getattr(command, option.name)
        do = "give it a value, or leave it out; `--help` names its default"
        if any(isinstance(word, str) and not word.strip() for word in (value if isinstance(value, tuple) else [value])):
            raise OptionError(f"{option.name} is empty", given=repr(value), do=do)
        dashed = f"--{option.name.replace('_', '-')}"
        if value == () and dashed in (argument.replace("_", "-") for argument in arguments):
            raise OptionError(f"{option.name} is empty", given=f"{dashed} without a value", do=do)


def _read(arguments: list[str]) -> Command:
    settings = dict(config=(tyro.conf.FlagCreatePairsOff,))
    if arguments and not arguments[0].startswith("-"):
        name, *options = arguments
        if name not in COMMANDS:
            raise unknown("command", name, COMMANDS)
        command = COMMANDS[name]
        text = _lines(inspect.getdoc(command))
        return tyro.cli(command, prog=f"gnomon {name}", description=text, args=options, **settings)
    briefs = tuple(
        Annotated[command, tyro.conf.subcommand(name, description=_brief(command))]
        for name, command in COMMANDS.items()
    )
    if not arguments:
        with contextlib.suppress(SystemExit):
            tyro.cli(Union[briefs], prog="gnomon", description=_lines(ABOUT), args=["--help"], **settings)  # noqa: UP007
        raise SystemExit(2)
    return tyro.cli(Union[briefs], prog="gnomon", description=_lines(ABOUT), args=arguments, **settings)  # noqa: UP007


def _lines(text: str) -> str:
    """`text` as it is written: tyro joins lines that begin with a letter, and doubles those that are empty."""
    return "\n".join(f"  {line}" if line else _nothing() for line in text.splitlines())


def _nothing() -> str:
    """A line that shows nothing and is not empty, in what stdout can write."""
    try:
        ZERO_WIDTH_SPACE.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return " "
    return ZERO_WIDTH_SPACE


def _brief(command: type[Command]) -> str:
    """The first line of a command's docstring and its first example."""
    lines = inspect.getdoc(command).splitlines()
    example = next(line.strip() for line in lines if line.startswith("  gnomon "))
    return f"{lines[0]}\n  $ {example}"
