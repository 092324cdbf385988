"""The plan of a comparison from a name: a preset, or a Python file, which is code and is run as code."""

import re
from dataclasses import dataclass
from pathlib import Path

from gnomon import user_code
from gnomon.errors import OptionError, UserError, shown, unknown
from gnomon.lab import experiment as parts
from gnomon.lab.experiment import Experiment
from gnomon.lab.presets import PRESETS
from gnomon.lab.tuning import Tuning

DO = "write EXPERIMENTS = [Experiment(...), ...]; `experiments/quick.py` is an example"
FORM = "quick"
"""The form of a file that has several, unless it is said which."""


@dataclass(frozen=True)
class Plan:
    """What a comparison is made of."""

    experiments: list[Experiment]
    tuning: Tuning | None = None
    """How their learning rates are found; None: they are as they stand."""


def load(source: str, form: str | None = None) -> Plan:
    """A preset, or what a Python file sets: EXPERIMENTS, or FORMS, which names several lists; TUNING with either.

    form: which of FORMS; None: `quick`. What is wrong with the file is a UserError naming its line.
    """
    if source in PRESETS:
        if form is not None:
            raise OptionError("a plan by name has no forms", given=f"{source}, form {form}", do="leave the form out")
        return Plan(PRESETS[source]())
    path = Path(source)
    if not path.is_file():
        if path.suffix == ".py" or path.exists() or "/" in source:
            allowed = f"a Python file, or {', '.join(sorted(PRESETS))}"
            raise OptionError("no such experiment file", given=source, allowed=allowed, do=DO)
        raise unknown("preset", source, PRESETS)
    found = _run(path)
    tuning = found.get("TUNING")
    if tuning is not None and not isinstance(tuning, Tuning):
        do = "write TUNING = Tuning(rates=(1e-3, 3e-3))"
        raise OptionError(f"TUNING of {path} is a Tuning", given=shown(tuning), do=do)
    return Plan(_experiments(found, path, form), tuning)


def _experiments(found: dict, path: Path, form: str | None) -> list[Experiment]:
    """Those of a form of the file, or its only ones."""
    forms = found.get("FORMS")
    if forms is not None:
        if not isinstance(forms, dict) or not forms or not all(isinstance(name, str) for name in forms):
            do = 'write FORMS = {"quick": [...], "standard": [...]}'
            raise OptionError(f"FORMS of {path} names lists of experiments", given=shown(forms), do=do)
        name = form or (FORM if FORM in forms else next(iter(forms)))
        if name not in forms:
            raise unknown("form", name, forms)
        return _listed(forms[name], f"FORMS[{name!r}] of {path}")
    if form is not None:
        raise OptionError(f"{path} has one form", given=f"form {form}", allowed="FORMS in the file", do="leave it out")
    if "EXPERIMENTS" not in found:
        names = ", ".join(name for name in found if not name.startswith("_"))
        raise OptionError(f"{path} does not set EXPERIMENTS", given=names or "nothing", do=DO)
    return _listed(found["EXPERIMENTS"], f"EXPERIMENTS of {path}")


def _listed(experiments: object, where: str) -> list[Experiment]:
    if not isinstance(experiments, list | tuple) or not experiments:
        raise OptionError(f"{where} is a list of experiments", given=shown(experiments), do=DO)
    for item in experiments:
        if not isinstance(item, Experiment):
            raise OptionError(f"{where} holds something else", given=shown(item), do=DO)
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
