"""Python files that a user gives us: they are code, and are run as code; their mistakes are told with the line."""

import hashlib
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from gnomon.errors import OptionError, UserError

PREFIX = "user_code_"
DO = "name a class that inherits from gnomon.Encoding as path/to/file.py:Class; CONTRIBUTING.md shows one"


def run(path: Path, sets: str) -> dict[str, Any]:
    """What the file sets at its top level. UserError for whatever it raises, with the line; `sets` says what it should.

    A TypeError comes through as it is, for callers who know what was called.
    """
    try:
        return vars(_module(path))
    except SyntaxError as error:
        where = f"{error.filename or path}, line {error.lineno}"
        raise UserError(f"{where}: {error.msg}", given=(error.text or "").strip() or None) from error
    except UserError as error:
        asked = f"{path}{line(error, path)}: {error.asked}"
        raise type(error)(asked, given=error.given, allowed=error.allowed, do=error.do) from error
    except TypeError:
        raise
    except Exception as error:
        raise failed(error, path) from error
    except SystemExit as error:
        raise UserError(f"{path}{line(error, path)} ends the program instead of setting {sets}") from error


def _module(path: Path) -> ModuleType:
    """The file as a module of its own, which torch.compile can find by name; the same code is run once."""
    source = path.read_bytes()
    name = f"{PREFIX}{hashlib.sha256(str(path.resolve()).encode() + source).hexdigest()[:16]}"
    if name not in sys.modules:
        module = ModuleType(name)
        module.__file__ = str(path)
        sys.modules[name] = module
        try:
            exec(compile(source, str(path), "exec"), vars(module))
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


def file_of(kind: type) -> Path | None:
    """The user's file that defines a class; None for a class of somebody else."""
    return Path(sys.modules[kind.__module__].__file__) if kind.__module__.startswith(PREFIX) else None


def failed(error: BaseException, path: Path) -> UserError:
    """An error of the file's own as a user's."""
    return UserError(f"{path}{line(error, path)}: {type(error).__name__}: {error}")


def line(error: BaseException, path: Path) -> str:
    """`, line 12`, where the file was when it raised; nothing where it was elsewhere."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f", line {lines[-1]}" if lines else ""


def is_class(name: str) -> bool:
    """Whether `name` is that of a class in a file, `path/to/file.py:Class`."""
    return ".py:" in name or name.endswith(".py")


def file_and_class(name: str) -> tuple[Path, str]:
    """`path/to/file.py` and `Class`. OptionError without such a file."""
    path, _, kind = name.rpartition(":") if ".py:" in name else (name, "", "")
    if not Path(path).is_file():
        raise OptionError("no such file of your own", given=name, allowed="path/to/file.py:Class", do=DO)
    return Path(path), kind


def digest(name: str) -> str:
    """sha256 of the file that `path/to/file.py:Class` names."""
    return hashlib.sha256(file_and_class(name)[0].read_bytes()).hexdigest()
