"""Experiments from a name: a preset, or a Python file with EXPERIMENTS = [...]. The file is code and is run as code."""

import re
from pathlib import Path

from gnomon import user_code
from gnomon.errors import OptionError, UserError, unknown
from gnomon.lab import experiment as parts
from gnomon.lab.experiment import Experiment
from gnomon.lab.presets import PRESETS

DO = "write EXPERIMENTS = [Experiment(...), ...]; `experiments/quick.py` is an example"


def load(source: str) -> list[Experiment]:
    """The experiments of a preset or of a Python file. What is wrong with the file is a UserError naming its line."""
    if source in PRESETS:
        return PRESETS[source]()
    path = Path(source)
    if not path.is_file():
        if path.suffix == ".py" or path.exists() or "/" in source:
            allowed = f"a Python file, or {', '.join(sorted(PRESETS))}"
            raise OptionError("no such experiment file", given=source, allowed=allowed, do=DO)
        raise unknown("preset", source, PRESETS)
    found = _run(path)
    if "EXPERIMENTS" not in found:
        names = ", ".join(name for name in found if not name.startswith("_"))
        raise OptionError(f"{path} does not set EXPERIMENTS", given=names or "nothing", do=DO)
    experiments = found["EXPERIMENTS"]
    if not isinstance(experiments, list | tuple) or not experiments:
        raise OptionError(f"EXPERIMENTS of {path} is a list of experiments", given=repr(experiments)[:200], do=DO)
    for item in experiments:
        if not isinstance(item, Experiment):
            raise OptionError(f"EXPERIMENTS of {path} holds something else", given=repr(item)[:200], do=DO)
    return list(experiments)


def _run(path: Path) -> dict:
    try:
        return user_code.run(path)
    except UserError as error:
        raise _argument(error, path) from error.__cause__


def _argument(error: UserError, path: Path) -> UserError:
    """A misspelt option of a dataclass reaches us as Python's TypeError; the nearest known option is worth naming."""
    cause = error.__cause__ if isinstance(error.__cause__, TypeError) else None
    wrong = re.match(r"(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'", str(cause))
    kind = getattr(parts, wrong[1], None) if wrong else None
    if kind is None:
        return error
    named = unknown(f"option of {wrong[1]}", wrong[2], kind.__dataclass_fields__)
    return OptionError(f"{user_code.place(cause, path)}: {named.asked}", allowed=named.allowed, do=named.do)
