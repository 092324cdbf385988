"""`gnomon list --backend`: which backend computes each encoding, and in which way."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gnomon.commands.output import Screen, table

if TYPE_CHECKING:
    from gnomon.encoding import Encoding

TOKENS = 4096


def ways(encodings: "Mapping[str, Encoding]", shape: Any) -> list[dict[str, Any]]:
    """For each encoding the backend that `auto` chooses, and how it computes attention of 4096 tokens, no gradient.

    Asked of the plan that attention itself would follow: evenly spaced positions, and the same ones in no order.
    An encoding that takes fewer positions is asked about as many as it takes.
    """
    import torch

    from gnomon.masks import CAUSAL
    from gnomon.plan import plan
    from gnomon.positions import Positions, sequence
    from gnomon.user_code import guarded

    found = []
    for name, encoding in encodings.items():
        n = int(min(TOKENS, encoding.domain.highest + 1))
        order = torch.randperm(n, generator=torch.Generator().manual_seed(0)).to(torch.float64)
        axes = encoding.domain.axes or 1
        row = {"name": name.rpartition(":")[2], "tokens": n}
        for kind, pos in (
            ("evenly_spaced", sequence(n)),
            ("anywhere", Positions(order[None, :, None].expand(1, n, axes))),
        ):
            if kind == "evenly_spaced" and axes != 1:
                row[kind] = None
                continue
            with guarded(type(encoding)), torch.no_grad():
                made = plan(encoding, pos, heads=shape.heads, dtype=torch.float32, mask=CAUSAL)
            row["backend"] = type(made.backend).__name__.lower()
            row[kind] = made.backend.way(made.backend_plan)
        found.append(row)
    return found


def show_ways(rows: list[dict[str, Any]]) -> None:
    """A table of them."""
    out = Screen()
    shown = table("encoding", "backend", "evenly spaced positions", "anywhere")
    for row in rows:
        shown.add_row(row["name"], row["backend"], row["evenly_spaced"] or "-", row["anywhere"])
    out.table(shown)
    fewer = [f"{row['name']}: {row['tokens']}" for row in rows if row["tokens"] != TOKENS]
    out.print(
        f"\nwhat `backend='auto'` does with {TOKENS} tokens{' (' + ', '.join(fewer) + ')' if fewer else ''}, causal, "
        "where nothing has a gradient; what is learned has its own by the same parts, from 2^22 logits on. "
        'DESIGN.md, "Backends", has the whole tree'
    )
