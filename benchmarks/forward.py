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
from benchmarks.subjects import HEAD_DIM, HEADS, KINDS, SUBJECTS, Bounds, Setting, Subject, chosen, plain
from gnomon.commands.output import Names

FEW, MANY = 256, 768
"""Queries at a time whose biases fit a cache, and from which on PyTorch's kernel takes larger blocks."""
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
        asked = self.n or (256 if self.quick else 4096)
        for causal in () if self.encodings else (False, True):
            yield from self._given(Setting(asked, causal))
        for label, subject in chosen(self.encodings).items():
            n = subject.sized(asked)
            for causal in subject.masks():
                for kind in ("kernel", "layer"):
                    yield from self._times(label, subject, Setting(n, causal), kind)
                    if self.memory:
                        yield from self._memory(label, subject, Setting(n, causal), kind)

    def _given(self, setting: Setting) -> Iterator[Row]:
        """What a bias of every pair costs that is there already, beside what it costs to make one.

        From memory for all queries at once, or for some of them and the keys that these see; or a view of one table.
        """
        limit, (q, k, v), n = LIMITS["kernel"], setting.heads(), setting.n
        biases, table = torch.randn(1, HEADS, n, n), torch.randn(1, HEADS, 2 * n - 1)
        view = table.as_strided((1, HEADS, n, n), (0, 2 * n - 1, 1, 1))

        def chunks(bias: Tensor, size: int) -> Callable[[], None]:
            def call() -> None:
                for start in range(0, n, size):
                    some, keys = slice(start, start + size), slice(0, min(start + size, n) if setting.causal else n)
                    options = dict(attn_mask=bias[:, :, some, keys])
                    scaled_dot_product_attention(q[:, :, some], k[:, :, keys], v[:, :, keys], **options)

            return call

        calls = {
            limit: plain(setting),
            "biases given, all at once": lambda: scaled_dot_product_attention(q, k, v, attn_mask=biases),
            f"biases given, {FEW} at a time": chunks(biases, FEW),
            f"a table given, {MANY} at a time": chunks(view, MANY),
        }
        found = interleaved(calls, self.repeats)
        for what, timing in list(found.items())[1:]:
            yield timed(_section("kernel", setting.causal), what, limit, timing, found[limit])

    def _times(self, label: str, subject: Subject, setting: Setting, kind: str) -> Iterator[Row]:
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
            row = timed(_section(kind, setting.causal), what, limit, timing, found[limit], **more)
            below = of is not None and of.slow is not None and row.verdict not in ("", "met")
            yield replace(row, note=of.slow.note()) if below else row

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
