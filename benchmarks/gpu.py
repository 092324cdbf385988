"""The forward table on a CUDA GPU, flex's backward pass with captured tables, and rotation against a device copy."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch

from benchmarks.measure import interleaved
from benchmarks.rotation import rotations
from benchmarks.rows import Row, timed
from benchmarks.script import Script, main
from benchmarks.subjects import KINDS, Setting, chosen, plain
from gnomon.commands.output import Names

COMPILING = 600.0
"""Seconds of patience: the first call of a kernel compiles it."""
DEVICE = "cuda"
LIMIT = "F.scaled_dot_product_attention"
TABLES = ("alibi", "t5", "kerple", "relative_bias")
"""Whose flex kernels read tensors that they capture, in the backward pass too."""


@dataclass(frozen=True)
class Gpu(Script):
    """Forward by SDPA and by flex, forward and backward by flex, and rotation; bfloat16, b=1, h=8, d=64, n=4096.

    Bounds are those of the CPU. Without a CUDA GPU it says so and measures nothing.
    """

    encodings: Names = ()

    def rows(self) -> Iterator[Row]:
        if not torch.cuda.is_available():
            yield Row("GPU", "no CUDA GPU is here", note="nothing was measured")
            return
        device = torch.cuda.get_device_name()
        setting = Setting(64 if self.quick else 4096, True, device=DEVICE, dtype=torch.bfloat16)
        for label in chosen(self.encodings):
            for backend in ("auto", "flex"):
                yield from self._rows(label, replace(setting, backend=backend), f"{device}, forward")
        for label in TABLES if not self.encodings else self.encodings:
            trained = replace(setting, backend="flex", grad=True)
            yield from self._rows(label, trained, f"{device}, forward and backward")
        for row in rotations("half", setting.n, torch.bfloat16, DEVICE, self.repeats):
            yield replace(row, section=f"{device}, {row.section}")

    def _rows(self, label: str, setting: Setting, section: str) -> Iterator[Row]:
        subject = chosen([label])[label]
        for causal in subject.masks():
            here = replace(setting, causal=causal)
            title, what = f"{section}, {'causal' if causal else 'bidirectional'}", f"{label}, {setting.backend}"
            try:
                calls = {LIMIT: plain(here), what: KINDS["kernel"](subject, here)}
                found = interleaved(calls, self.repeats, COMPILING)
            except Exception as error:
                # One kernel that cannot be compiled or does not fit is a row that says so; the others go on.
                yield Row(title, what, note=f"{type(error).__name__}: {error}".splitlines()[0])
                continue
            bound = subject.even.time(causal) if subject.even and not setting.grad else None
            yield timed(title, what, LIMIT, found[what], found[LIMIT], bound=bound)
            size, limit = (_peak(call) for call in reversed(calls.values()))
            bound = subject.even.memory if subject.even and not setting.grad else None
            yield Row(f"{title}, memory", what, LIMIT, size, "B", limit, size / max(limit, 1), bound)


def _peak(call) -> int:
    """Bytes of the device by which a call exceeds what was held before it."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


if __name__ == "__main__":
    sys.exit(main(Gpu))
