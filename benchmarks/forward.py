"""Forward: every encoding near the cost of attention without positions, in time and in memory."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import torch
import tyro
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from benchmarks.measure import interleaved
from benchmarks.memory import memory
from benchmarks.peers import PEERS
from benchmarks.rows import Row, peer, timed
from benchmarks.script import Script, main
from benchmarks.subjects import (
    FEW,
    HEAD_DIM,
    HEADS,
    KINDS,
    MANY,
    SUBJECTS,
    Bounds,
    Floor,
    Given,
    Setting,
    Subject,
    chosen,
    plain,
)
from gnomon.commands.output import Names

LIMITS = {"kernel": "F.scaled_dot_product_attention", "layer": "Attention without positions"}


@dataclass(frozen=True)
class Forward(Script):
    """Forward pass of every encoding over attention without positions, in the same masking.

    b=1, h=8, d=64, float32, no gradient. The kernel has all work on positions, the plan included;
    positions are evenly spaced, or random and sorted, real where such are taken. The whole layer stands
    beside it, and layers of other packages at the same sizes. Other ways of attention: benchmarks.ways.
    """

    encodings: Names = ()
    n: Annotated[int | None, tyro.conf.arg(help="Tokens.", metavar="N", help_behavior_hint="(default: 4096)")] = None
    memory: Annotated[bool, tyro.conf.arg(help="Leave memory out.", help_behavior_hint="")] = True
    peers: Annotated[bool, tyro.conf.arg(help="Leave other packages out.", help_behavior_hint="")] = True

    def rows(self) -> Iterator[Row]:
        asked = (256 if self.quick else 4096) if self.n is None else self.n
        floors: dict[tuple[bool, str], Floor] = {}
        for causal in () if self.encodings else (False, True):
            for row in self._given(Setting(asked, causal)):
                floors[causal, row.what] = Floor(row.ratio, row.what, "reference")
                yield row
        for label, subject in chosen(self.encodings).items():
            n = subject.sized(asked)
            for causal in subject.masks():
                for kind in ("kernel", "layer"):
                    for row, of in self._times(label, subject, Setting(n, causal), kind):
                        slow = of.slow if of is not None and kind == "kernel" else None
                        floor = floors.get((causal, slow)) if isinstance(slow, Given) else slow
                        below = floor is not None and row.verdict not in ("", "met")
                        yield replace(row, note=floor.note()) if below else row
                    if self.memory:
                        yield from self._memory(label, subject, Setting(n, causal), kind)

    def _given(self, setting: Setting) -> Iterator[Row]:
        """What kinds of encodings add where all that they work out is there already.

        A bias for each pair from memory, for all queries at once, or for some of them and the keys that these see; a
        view of one table; a table added to what a layer reads; queries and keys written anew.
        """
        limit, (q, k, v), n = LIMITS["kernel"], setting.heads(), setting.n
        (x, added), sdpa = (setting.inputs() for _ in range(2)), scaled_dot_product_attention
        biases, table = torch.randn(1, HEADS, n, n), torch.randn(1, HEADS, 2 * n - 1)
        view = table.as_strided((1, HEADS, n, n), (0, 2 * n - 1, 1, 1))

        def chunks(bias: Tensor, size: int) -> Callable[[], None]:
            def call() -> None:
                for start in range(0, n, size):
                    some, keys = slice(start, start + size), slice(0, min(start + size, n) if setting.causal else n)
                    options = dict(attn_mask=bias[:, :, some, keys])
                    sdpa(q[:, :, some], k[:, :, keys], v[:, :, keys], **options)

            return call

        calls = {
            limit: plain(setting),
            Given.WHOLE: lambda: sdpa(q, k, v, attn_mask=biases),
            Given.BIASES: chunks(biases, FEW),
            Given.TABLE: chunks(view, MANY),
            Given.ADDED: lambda: (x + added, sdpa(q, k, v, is_causal=setting.causal)),
            Given.COPIED: lambda: sdpa(q.clone(), k.clone(), v, is_causal=setting.causal),
        }
        found = interleaved(calls, self.repeats)
        for what, timing in list(found.items())[1:]:
            yield timed(_section("kernel", setting.causal), str(what), limit, timing, found[limit])

    def _times(self, label: str, subject: Subject, setting: Setting, kind: str) -> Iterator[tuple[Row, Bounds | None]]:
        """Each row, and the bounds that it is held to."""
        limit = LIMITS[kind]
        calls = {limit: plain(setting) if kind == "kernel" else KINDS[kind](SUBJECTS["none"], setting)}
        bounds: dict[str, Bounds | None] = {}
        for which, spot, of in _spots(subject, setting, kind):
            bounds[which], calls[which] = of, KINDS[kind](subject, spot)
            if kind == "kernel" and subject.reads:
                bounds[f"{which}, plan made before"] = of
                calls[f"{which}, plan made before"] = KINDS["planned"](subject, spot)
        packages: dict[str, str] = {}
        for other in PEERS if kind == "layer" and self.peers else ():
            if other.of == label and setting.causal in other.masks:
                packages[other.what] = peer(other.package)
                calls[other.what] = other.build(setting.n, setting.causal)
        found = interleaved(calls, self.repeats)
        for which, timing in list(found.items())[1:]:
            of = bounds.get(which)
            what = which if which in packages else f"{label} {which}"
            more = dict(bound=of and of.time(setting.causal), peer=packages.get(which, ""))
            yield timed(_section(kind, setting.causal), what, limit, timing, found[limit], **more), of

    def _memory(self, label: str, subject: Subject, setting: Setting, kind: str) -> Iterator[Row]:
        section = _section(kind, setting.causal) + ", memory"
        for which, spot, of in _spots(subject, setting, kind):
            row = memory(section, f"{label} {which}", label, spot, kind, LIMITS[kind], of and of.memory)
            if of and of.large and kind == "kernel" and row.verdict not in ("", "met"):
                size = spot.batch * HEADS * spot.n * HEAD_DIM * spot.dtype.itemsize
                row = replace(row, note=of.large.note(size / row.of_limit))
            yield row


def _section(kind: str, causal: bool) -> str:
    return f"{kind}, {'causal' if causal else 'bidirectional'}"


def _spots(subject: Subject, setting: Setting, kind: str) -> Iterator[tuple[str, Setting, Bounds | None]]:
    """Evenly spaced positions, and for kernels arbitrary ones that are sorted, with the bounds there."""
    fewer = f", n={setting.n}" if setting.n == subject.most else ""
    yield f"even{fewer}", setting, subject.even
    if subject.places and kind == "kernel":
        yield f"sorted{fewer}", replace(setting, even=False), subject.sorted


if __name__ == "__main__":
    sys.exit(main(Forward))
