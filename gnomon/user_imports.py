"""What a user's file imports from its own folder, found by reading it: part of its code, and read anew once changed."""

import ast
import importlib
import sys
from collections.abc import Iterator, Mapping
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from gnomon.errors import OptionError, UserError

FOREIGN = sys.stdlib_module_names | {"gnomon"}
"""Never in a user's folder, whatever lies there."""

_read: dict[str, tuple[Path, bytes]] = {}
"""The modules of users' folders that may have been imported for their files, as they were then."""

_folders: list[str] = []
"""Those folders, the last one first."""


class Beside:
    """Finds modules in those folders, where Python has found none: they hide nothing that is installed.

    Not in sys.path, which other processes are given: in each, a file has its own folder alone.
    """

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Where the module is, if it lies in no package."""
        return PathFinder.find_spec(name, _folders) if path is None else None


def beside(path: Path) -> dict[str, Path]:
    """The modules of its own folder that a file imports, at any depth, also inside of functions: name -> file.

    A name that is made when the code runs (importlib) is not found.
    """
    found: dict[str, Path] = {}
    waiting = [("", path)]
    while waiting:
        for name in _imported(*waiting.pop()):
            file = _file(path.absolute().parent, name)
            if file is not None and name not in found and file != path.absolute():
                found[name] = file
                waiting.append((name, file))
    return dict(sorted(found.items()))


def find(path: Path, modules: Mapping[str, Path]) -> None:
    """Let imports find the modules beside a file as they are now, not those of before, nor another folder's."""
    folder, now = str(path.absolute().parent), {name: (file, file.read_bytes()) for name, file in modules.items()}
    if any(_read.get(name, held) != held for name, held in now.items()):
        for name in now.keys() & _read.keys():
            sys.modules.pop(name, None)
    _read.update(now)
    _folders[:] = [folder, *(other for other in _folders if other != folder)]
    if Beside not in sys.meta_path:
        sys.meta_path.append(Beside)
    importlib.invalidate_caches()


def check(path: Path, modules: Mapping[str, Path]) -> None:
    """OptionError where Python has imported another module of that name: one that nothing here knows of."""
    for name, file in modules.items():
        loaded = getattr(sys.modules.get(name), "__file__", None)
        if loaded is not None and Path(loaded).resolve() != file.resolve():
            raise OptionError(
                f"{path} imports {name}, and Python finds another module of that name",
                given=loaded,
                allowed=str(file),
                do=f"give {file.name} a name of its own",
            )


def files() -> set[str]:
    """The files of users' folders that have been imported, as tracebacks name them."""
    return {str(file) for file, _ in _read.values()}


def _imported(name: str, file: Path) -> Iterator[str]:
    """The dotted names that a module imports anywhere in it, each after the packages that it lies in."""
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(_parsed(file)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}".strip(".") for alias in node.names]
        for parts in (each.split(".") for each in names):
            yield from (".".join(parts[: count + 1]) for count in range(len(parts)))


def _parsed(file: Path) -> ast.Module:
    """A file of Python. SyntaxError, which names the line, for what is none, and UserError where there is no line."""
    try:
        return ast.parse(file.read_bytes(), str(file))
    except SyntaxError as error:
        if error.lineno:
            raise
        raise UserError(f"{file}: no file of Python", given=error.msg) from error
    except (ValueError, RecursionError, MemoryError) as error:  # no text, or brackets in brackets without end
        raise UserError(f"{file}: no file of Python", given=str(error) or type(error).__name__) from error


def _file(folder: Path, name: str) -> Path | None:
    """The file of a module in a folder; None where it has none."""
    first, *_ = parts = name.split(".")
    inner = folder.joinpath(*parts)
    candidates = (inner / "__init__.py", inner.with_name(f"{inner.name}.py"))
    return None if first in FOREIGN else next((file for file in candidates if file.is_file()), None)
