"""Compilation: one graph for every length, and one kernel for each encoding and mask."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
import tyro
from torch import Tensor
from torch._dynamo.utils import counters

from benchmarks.rows import Row
from benchmarks.script import Script, main
from benchmarks.subjects import Setting, Subject, chosen, fused
from gnomon.attention import attend
from gnomon.commands.output import Names
from gnomon.errors import BackendError
from gnomon.masks import BIDIRECTIONAL, CAUSAL
from gnomon.positions import sequence
from gnomon.transformer import Transformer

LENGTHS = (11, 17, 23, 40)
ONCE_MORE, ONCE = 1, 1
KERNELS = ("none", "alibi", "t5")
"""Encodings whose flex kernels are compiled where none are named: ten seconds each."""
MASKS = {False: BIDIRECTIONAL, True: CAUSAL}


class Counting:
    """A compiler that counts the graphs it is given, and runs them as they are, or by inductor."""

    def __init__(self, real: bool):
        self.real, self.graphs = real, 0

    def __call__(self, graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Callable:
        self.graphs += 1
        if not self.real:
            return graph.forward
        from torch._inductor.compile_fx import compile_fx

        return compile_fx(graph, inputs)


@dataclass(frozen=True)
class Compile(Script):
    """Recompilations of torch.compile(fullgraph=True) of a Transformer over several lengths, and kernels of flex.

    For every encoding that a fused kernel can serve. Kernels are counted over other numbers, other positions and
    another object of the same encoding; each takes about ten seconds.
    """

    encodings: Names = ()
    inductor: Annotated[bool, tyro.conf.arg(help="Compile by inductor, a minute a row.", help_behavior_hint="")] = False
    flex: Annotated[bool, tyro.conf.arg(help="Leave kernels of flex out.", help_behavior_hint="")] = True

    def rows(self) -> Iterator[Row]:
        for label, subject in chosen(self.encodings, fused()).items():
            for causal in subject.masks():
                yield self._graphs(label, subject, causal)
        names = self.encodings or KERNELS
        for label, subject in (chosen(names, fused()) if self.flex else {}).items():
            for causal in subject.masks():
                yield _kernels(label, subject, causal)

    def _graphs(self, label: str, subject: Subject, causal: bool) -> Row:
        encoding = subject.build(max(LENGTHS), causal, heads=4, head_dim=16)
        model = Transformer(64, 64, 2, 4, encoding, mask=MASKS[causal]).eval()
        counting, error = Counting(self.inductor), None
        torch._dynamo.reset()
        compiled = torch.compile(model, fullgraph=True, backend=counting)
        try:
            with torch.no_grad():
                for n in LENGTHS:
                    compiled(torch.randint(64, (2, n)))
        except Exception as raised:
            error = f"does not compile: {type(raised).__name__}: {raised}".splitlines()[0]
        how = "by inductor" if self.inductor else "by dynamo"
        return _counted(f"recompilations over {len(LENGTHS)} lengths, {how}", label, causal, counting.graphs - 1, error)


def _counted(section: str, label: str, causal: bool, count: int, error: str | None, bound: int = ONCE_MORE) -> Row:
    what = f"{label}, {'causal' if causal else 'bidirectional'}"
    if error is not None:
        return Row(section, what, unit="count", bound=bound, note=error)
    return Row(section, what, "", count, "count", ratio=count, bound=bound)


def _kernels(label: str, subject: Subject, causal: bool) -> Row:
    """Kernels that flex compiles for one length."""
    setting = Setting(64, causal, backend="flex")
    torch._dynamo.reset()
    before, error = counters["stats"]["unique_graphs"], None
    try:
        with torch.no_grad():
            for turn in range(3):
                encoding, (q, k, v) = subject.build(setting.n, causal), setting.heads()
                start = 0 if turn == 0 else turn * setting.n
                attend(q, k, v, encoding, sequence(setting.n, start), mask=setting.mask, backend="flex")
    except BackendError as raised:
        error = raised.asked
    count = counters["stats"]["unique_graphs"] - before
    return _counted("kernels of flex for one length", label, causal, count, error, ONCE)


if __name__ == "__main__":
    sys.exit(main(Compile))
