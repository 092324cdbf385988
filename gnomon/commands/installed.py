"""What gnomon asks of other packages, and what is installed: versions, and whether they can be imported."""

import importlib.metadata
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[2]
"""The repository, where gnomon runs from one."""

MISSING = "it is not installed"

PATIENCE = 900.0
"""Seconds that a process may take: a kernel is built in one or two minutes."""

IMPORTS = """import importlib
for name in {names!r}:
    print(name, flush=True)
    try:
        importlib.import_module(name)
    except BaseException as error:
        print("!", type(error).__name__, *str(error).split(), flush=True)
"""


@dataclass(frozen=True)
class Wanted:
    """What pyproject.toml asks for."""

    python: "SpecifierSet"
    needs: "dict[str, list[Requirement]]"
    """Packages by extra; under "" those without which gnomon does not work."""


@cache
def wanted() -> Wanted:
    """From the repository that gnomon runs from, or else from what was written down when it was installed."""
    import tomllib

    file = ROOT / "pyproject.toml"
    if file.is_file() and (told := tomllib.loads(file.read_text(encoding="utf-8"))["project"])["name"] == "gnomon":
        return _wanted(told["requires-python"], {"": told["dependencies"], **told["optional-dependencies"]})
    return recorded()


def recorded() -> Wanted:
    """From the metadata of the installed package."""
    from packaging.requirements import Requirement

    written = importlib.metadata.metadata("gnomon")
    extras = written.get_all("Provides-Extra") or []
    lines: dict[str, list[str]] = {extra: [] for extra in ("", *extras)}
    for line in written.get_all("Requires-Dist") or []:
        marker = Requirement(line).marker
        of = [extra for extra in extras if marker is not None and marker.evaluate({"extra": extra})]
        needed = marker is None or marker.evaluate({"extra": ""})
        for extra in [""] if needed else of:
            lines[extra].append(line)
    return _wanted(written["Requires-Python"], lines)


def _wanted(python: str, lines: dict[str, list[str]]) -> Wanted:
    from packaging.requirements import Requirement
    from packaging.specifiers import SpecifierSet

    return Wanted(SpecifierSet(python), {extra: [*map(Requirement, held)] for extra, held in lines.items()})


def misfit(need: "Requirement") -> str | None:
    """Why what is installed does not meet a requirement; None where it does."""
    try:
        found = version(need.name)
    except PackageNotFoundError:
        return MISSING
    return None if need.specifier.contains(found, prereleases=True) else f"{found}, where {need.specifier} is needed"


def broken(names: Sequence[str]) -> dict[str, str]:
    """Packages that cannot be imported, and why; found in a process of its own, which some of them may end."""
    owner = {module: name for name in names for module in _modules(name)}
    ended = child(IMPORTS.format(names=list(owner)))
    found, last = {}, None
    for line in ended.stdout.splitlines():
        if line in owner:
            last = line
        elif last and line.startswith("! "):
            found[owner[last]] = f"importing it raises {line[2:][:200]}"
    if ended.returncode and last:
        found[owner[last]] = f"importing it ends the process with code {ended.returncode}"
    return found


def _modules(name: str) -> list[str]:
    """What a package is imported as: by its own name, or by all that it has where nothing of it has that."""
    held = _held().get(_normal(name), [])
    return [module for module in held if _normal(module) == _normal(name)] or held


@cache
def _held() -> dict[str, list[str]]:
    """The modules of each package that is installed."""
    found: dict[str, list[str]] = {}
    for module, owners in importlib.metadata.packages_distributions().items():
        for owner in dict.fromkeys(owners):
            found.setdefault(_normal(owner), []).append(module)
    return found


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def child(code: str, **environment: str) -> subprocess.CompletedProcess:
    """Python of this installation, in a process of its own, which finds its modules where this one does."""
    whole = f"import sys\nsys.path[:] = {sys.path!r}\n{code}"
    told = dict(capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, **environment})
    return subprocess.run([sys.executable, "-P", "-c", whole], **told)
