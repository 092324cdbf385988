"""Python files that a user gives us: they are code, and are run as code; their mistakes are told with the line."""

import ast
import hashlib
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from gnomon import user_imports
from gnomon.errors import OptionError, UserError

PREFIX = "user_code_"
DO = "name a class that inherits from gnomon.Encoding as path/to/file.py:Class; CONTRIBUTING.md shows one"


def run(path: Path) -> dict[str, Any]:
    """What the file sets at its top level. UserError for whatever it raises, with the line."""
    with told(path):
        return vars(_module(path))


def _module(path: Path) -> ModuleType:
    """The file as a module of its own, which torch.compile can find by name; the same code is run once."""
    name = f"{PREFIX}{hashlib.sha256(f'{path.resolve()} {_digest(path)}'.encode()).hexdigest()[:16]}"
    if name not in sys.modules:
        module = ModuleType(name)
        module.__file__ = str(path)
        modules = user_imports.beside(path)
        user_imports.find(path, modules)
        sys.modules[name] = module
        # Python takes compiled code for that of a file which has been changed within the same second.
        written, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
            user_imports.check(path, modules)
        except BaseException:
            del sys.modules[name]
            raise
        finally:
            sys.dont_write_bytecode = written
    return sys.modules[name]


def file_of(kind: type) -> Path | None:
    """The user's file that defines a class; None for a class of somebody else."""
    return Path(sys.modules[kind.__module__].__file__) if kind.__module__.startswith(PREFIX) else None


@contextmanager
def told(path: Path | None) -> Iterator[None]:
    """Whatever is raised inside while a line of a user's file runs becomes a UserError that names the line.

    Without a file, or where no line of it, or of a module beside it, was running, an error comes through as it is: it
    is somebody else's. What is wrong with something that a file has returned is for those to tell who asked for it.
    """
    try:
        yield
    except BaseException as error:
        found = None if path is None else _as_told(error, path)
        if found is None:
            raise
        raise found from error


@contextmanager
def told_of_all() -> Iterator[None]:
    """`told` for every file that has been run: what a command raises in the lines of one is that file's."""
    try:
        yield
    except BaseException as error:
        files = [Path(module.__file__) for name, module in [*sys.modules.items()] if name.startswith(PREFIX)]
        found = next((as_told for path in files if (as_told := _as_told(error, path))), None)
        if found is None:
            raise
        raise found from error


def guarded(kind: type):
    """`told` for what a class does, if it is a user's."""
    return told(file_of(kind))


def _as_told(error: BaseException, path: Path) -> UserError | None:
    """The error as a user's; None where it comes through as it is: Ctrl-C, a UserError or what is not the file's."""
    if isinstance(error, KeyboardInterrupt):
        return None
    running = place(error, path)
    if isinstance(error, UserError):
        if running is None or error.asked.startswith(str(path)):
            return None
        return type(error)(f"{running}: {error.asked}", given=error.given, allowed=error.allowed, do=error.do)
    if isinstance(error, SyntaxError) and running is None and Path(error.filename or "").is_file():
        text = (error.text or "").strip() or None
        return UserError(f"{error.filename}, line {error.lineno}: {error.msg}", given=text)
    if running is None:
        return None
    if isinstance(error, SystemExit):
        return UserError(f"{running}: ends the program", given=f"exit code {error.code}", do="raise an error instead")
    return UserError(f"{running}: {type(error).__name__}: {error}".rstrip(": "))


def place(error: BaseException, path: Path) -> str | None:
    """`path/to/file.py, line 12`: where the file, or one beside it, was when it raised; None where neither was."""
    own = {str(path)} | user_imports.files()
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in own]
    return f"{lines[-1].filename}, line {lines[-1].lineno}" if lines else None


def where(kind: type, name: str | None = None) -> str:
    """`path/to/file.py, line 12`: where a user's class, or what it calls `name`, is written."""
    for base in kind.__mro__:
        path = file_of(base)
        if path is None or (name is not None and name not in vars(base)):
            continue
        for node in ast.walk(_parsed(path)):
            if isinstance(node, ast.ClassDef) and node.name == base.__name__:
                found = [inner for inner in node.body if name in _names(inner)] if name else [node]
                if found:
                    return f"{path}, line {found[-1].lineno}"
    return str(file_of(kind)) if name is None else where(kind)


def _parsed(path: Path) -> ast.Module:
    """The file as it is now; nothing where it has been spoilt since it ran."""
    try:
        return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _names(node: ast.stmt) -> set[str]:
    """What a statement in a class's body calls something."""
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    return {getattr(node, "name", None), *(getattr(target, "id", None) for target in targets)}


def is_class(name: str) -> bool:
    """Whether `name` is that of a class in a file, `path/to/file.py:Class`."""
    return ".py:" in name or name.endswith(".py")


def own(names: Sequence[str]) -> tuple[str, ...]:
    """Names of classes in files of the user's own. OptionError for another name."""
    for name in names:
        if not is_class(name):
            raise OptionError(
                "--encoding takes an encoding of your own",
                given=name,
                allowed="FILE.py:CLASS",
                do="name those that come with gnomon before it, or in compare by --encodings",
            )
    return tuple(names)


def path_of(name: str) -> Path | None:
    """The user's file that an encoding's name names; None where it comes with gnomon."""
    return file_and_class(name)[0] if is_class(name) else None


def file_and_class(name: str) -> tuple[Path, str]:
    """`path/to/file.py` and `Class`. OptionError without such a file."""
    path, _, kind = name.rpartition(":") if ".py:" in name else (name, "", "")
    if not Path(path).is_file():
        raise OptionError("no such file of your own", given=name, allowed="path/to/file.py:Class", do=DO)
    return Path(path), kind


def digest(name: str) -> str:
    """sha256 of the file that `path/to/file.py:Class` names, and of those of its folder that it imports, if any."""
    path, _ = file_and_class(name)
    with told(path):
        return _digest(path)


def _digest(path: Path) -> str:
    own = hashlib.sha256(path.read_bytes()).hexdigest()
    others = {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in user_imports.beside(path).items()}
    parts = [own, *(f"{name} {code}" for name, code in others.items())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest() if others else own
