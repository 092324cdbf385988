"""`gnomon list`: the encodings, where they act, what they declare and what they cost."""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from gnomon.commands.output import Added, Json, Names, Screen, print_json, table

if TYPE_CHECKING:
    from gnomon.encoding import Domain, Encoding

TOKENS = 512
TURNS = 12


@dataclass(frozen=True)
class List:
    """The encodings: where they act, what they declare and cost; tasks.

    Parameters and cost are those of a small causal Transformer, whose shape
    is printed. Cost is measured in a moment, and wavers where others use the
    machine: the time of a forward pass over that without positions.

    Examples:
      gnomon list
      gnomon list rope alibi --json
      gnomon list --encoding mine.py:Mine
      gnomon list --backend
      gnomon list --tasks
    """

    names: Names = ()
    """Encodings to show, or FILE.py:CLASS."""
    encoding: Added = ()
    """Your own: FILE.py:CLASS, run as code."""
    backend: bool = False
    """Which backend computes each, and how."""
    tasks: bool = False
    """Tasks for `compare --task`, instead."""
    json: Json = False

    def run(self) -> int:
        if self.tasks:
            return self._tasks()
        from gnomon.commands.ways import show_ways, ways
        from gnomon.encoding import Shape
        from gnomon.encodings import ENCODINGS, build, named
        from gnomon.user_code import own

        shape = Shape(width=128, heads=4, head_dim=32, depth=2, causal=True)
        names = (*self.names, *own(self.encoding)) or tuple(ENCODINGS)
        if self.backend:
            found = ways({name: build(named(name), shape) for name in names}, shape)
            print_json({"encodings": found}) if self.json else show_ways(found)
            return 0
        rows = _rows(names, shape)
        if self.json:
            print_json({"shape": asdict(shape) | {"tokens": TOKENS}, "encodings": rows})
        else:
            _show(rows, shape)
        return 0

    def _tasks(self) -> int:
        from gnomon.commands.task_list import described, show_tasks
        from gnomon.errors import OptionError

        if self.names or self.encoding or self.backend:
            raise OptionError(
                "tasks are listed by themselves",
                given="--tasks with encodings or --backend",
                do="leave one of them out",
            )
        found = described()
        print_json({"tasks": found}) if self.json else show_tasks(found)
        return 0


def _rows(names: Sequence[str], shape: Any) -> list[dict[str, Any]]:
    from gnomon.encoding import Property
    from gnomon.encodings import build, named, options_of

    kinds = {name: named(name) for name in names}
    made = {name: build(kind, shape) for name, kind in kinds.items()}
    milliseconds = _time({"none": build(named("none"), shape), **made}, shape)
    return [
        {
            "name": name.rpartition(":")[2],
            "title": (kind.__doc__ or "").strip().partition("\n")[0],
            "acts_on": made[name].sites,
            "positions": _domain(made[name].domain),
            "properties": [p.name.lower() for p in Property if p in made[name].properties],
            "options": options_of(kind),
            # Those that layers share are counted once.
            "parameters": sum(
                p.numel() for p in {p for layer in made[name].layers(shape.depth) for p in layer.parameters()}
            ),
            "forward_ms": milliseconds.get(name),
            "cost": milliseconds[name] / milliseconds["none"] if name in milliseconds else None,
        }
        for name, kind in kinds.items()
    ]


def _domain(domain: "Domain") -> dict[str, Any]:
    def bound(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return {
        "lowest": bound(domain.lowest),
        "highest": bound(domain.highest),
        "whole": domain.whole,
        "axes": domain.axes,
    }


def _time(encodings: "dict[str, Encoding]", shape: Any) -> dict[str, float]:
    """The least time of a forward pass on one thread, in milliseconds; none for those that take fewer tokens.

    The least, since whatever else runs on the machine only adds; turns alternate, so that it adds to all alike.
    """
    import time

    import torch

    from gnomon.errors import PositionError
    from gnomon.masks import CAUSAL
    from gnomon.transformer import Transformer
    from gnomon.user_code import guarded

    tokens = torch.zeros(1, TOKENS, dtype=torch.int64)
    sizes = dict(width=shape.width, depth=shape.depth, heads=shape.heads, feed_forward=4 * shape.width)
    models: dict[str, Transformer] = {}
    for name, encoding in encodings.items():
        with guarded(type(encoding)):
            model = Transformer(vocabulary=256, encoding=encoding, mask=CAUSAL, **sizes).eval()
            with contextlib.suppress(PositionError):
                model(tokens)
                models[name] = model
    least = dict.fromkeys(models, math.inf)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            for _ in range(TURNS):
                for name, model in models.items():
                    start = time.perf_counter()
                    model(tokens)
                    least[name] = min(least[name], 1000 * (time.perf_counter() - start))
    finally:
        torch.set_num_threads(threads)
    return least


def _show(rows: list[dict[str, Any]], shape: Any) -> None:
    out = Screen()
    sizes = table("encoding", "acts on", "positions", "parameters", "cost", right=("parameters", "cost"))
    for row in rows:
        acts_on = ", ".join(row["acts_on"]) or "nothing"
        numbers = f"{row['parameters']:,}", f"{row['cost']:.2f}x" if row["cost"] else "-"
        sizes.add_row(row["name"], acts_on, _positions(row["positions"]), *numbers)
    out.table(sizes)
    out.print(
        f"\nfor {shape.depth} layers of width {shape.width}, {shape.heads} heads of {shape.head_dim}, causal; cost is "
        f"the time of a forward pass of {TOKENS} tokens over that without positions"
        f"{'; -: it takes fewer' if any(row['cost'] is None for row in rows) else ''}\n"
    )
    properties = table("encoding", "declares (`gnomon laws` holds it to that)")
    for row in rows:
        declared = ", ".join(name.replace("_", " ") for name in row["properties"])
        properties.add_row(row["name"], declared or "nothing")
    out.table(properties)
    out.print()
    options = table("encoding", "options and their defaults")
    for row in rows:
        defaults = ", ".join(f"{name}={value!r}" for name, value in row["options"].items())
        options.add_row(row["name"], defaults or "none")
    out.table(options)


def _positions(domain: dict[str, Any]) -> str:
    kind = "whole" if domain["whole"] else "real"
    low, high = domain["lowest"], domain["highest"]
    bounds = f"{kind} {low:g}..{high:g}" if low is not None and high is not None else f"any {kind}"
    axes = {None: "any axes", 1: "1 axis"}.get(domain["axes"], f"{domain['axes']} axes")
    return f"{bounds}; {axes}"
