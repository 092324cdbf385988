"""FlexAttention, compiled on CPU: the numbers of SDPA at any length, for every encoding, and few compilations.

A compiled kernel costs about ten seconds, so these tests share encodings whose kernels are the same.
"""

import shutil
from dataclasses import replace

import pytest
import torch
from torch._dynamo.utils import counters

from gnomon import positions
from gnomon.attention import attend
from gnomon.backends import Flex
from gnomon.encoding import Property
from gnomon.encodings import ENCODINGS
from gnomon.errors import BackendError
from gnomon.masks import CAUSAL
from tests.core.common import anywhere, gap, heads, make, weigh

needs_compiler = pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler: flex cannot be compiled"
)


@pytest.fixture(autouse=True)
def nothing_compiled_before():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def leave_garbage() -> None:
    """Freed memory that holds nan, so that a kernel which reads what it never wrote is caught."""
    kept = [torch.full((size,), float("nan")) for size in (64, 512, 4096, 32_768, 262_144) for _ in range(20)]
    del kept


def differ(encoding, n: int, pos: positions.Positions, seed: int = 0) -> float:
    """How far flex is from SDPA, in float32; inf for nan."""
    q, k, v = heads(n, seed=seed, dtype=torch.float32)
    with torch.no_grad():
        expected = attend(q, k, v, encoding, pos)
        leave_garbage()
        return gap(attend(q, k, v, encoding, pos, backend="flex"), expected)


def graphs() -> int:
    return counters["stats"]["unique_graphs"]


@needs_compiler
def test_another_call_compiles_nothing():
    """New numbers, new positions of the same kind, a new encoding object: the kernel is there."""
    assert differ(make("alibi"), 13, positions.sequence(13)) < 1e-5
    before = graphs()
    for seed in range(3):
        assert differ(make("alibi"), 13, positions.sequence(13, 100 * seed), seed) < 1e-5
    assert graphs() == before


@needs_compiler
def test_every_encoding_at_several_lengths_and_few_compilations():
    """Those that a fused kernel serves have at most one each, compiled once for lengths to 16 and once to 32.

    A process that compares encodings has many kernels; torch's limit on recompiling one function is not theirs.
    """
    before, line = graphs(), positions.sequence(3)
    encodings = {name: weigh(make(name)) for name in ENCODINGS}
    fused = [name for name, encoding in encodings.items()
             if encoding.mix(line, line) is None and Property.CONTEXTUAL not in encoding.properties]  # fmt: skip
    assert len(fused) > torch._dynamo.config.recompile_limit
    for name in fused:
        # A second length costs a second compilation: enough for those of the first kinds.
        for n in (11, 17, 30) if name in ("none", "t5", "alibi") else (11,):
            assert differ(encodings[name], n, positions.sequence(n, 5)) < 1e-5, (name, n)
    assert graphs() - before <= 2 * len(fused)


@needs_compiler
def test_lengths_that_leave_half_a_vector():
    """Multiples of 8 that are none of 16: torch 2.13's CPU kernel reads memory there that it never wrote."""
    encoding = make("none")
    wrong = {n: max(differ(encoding, n, positions.sequence(n), seed) for seed in range(5)) for n in (8, 24, 40, 56)}
    assert max(wrong.values()) < 1e-5, wrong


@needs_compiler
def test_positions_other_in_each_row_padded_and_without_a_place():
    encoding = weigh(make("alibi"))
    pos = anywhere(encoding, 2, 13)
    pos = replace(pos, placed=torch.arange(13).expand(2, 13) > 1)
    pos = replace(pos, segment=torch.where(torch.arange(13) < torch.tensor([[13], [9]]), 0, -1))
    assert differ(encoding, 13, pos) < 1e-5


@needs_compiler
def test_on_a_grid():
    """Torch 2.13's CPU kernel takes no two views of one tensor, as rows and columns of the positions would be."""
    assert differ(make("alibi"), 15, positions.grid(3, 5)) < 1e-5


REFUSED = {
    "float64": lambda q, k, v: attend(q.double(), k.double(), v.double(), make("rope"), backend="flex"),
    "a gradient": lambda q, k, v: attend(q.requires_grad_(), k, v, make("rope"), backend="flex"),
    "dropout": lambda q, k, v: attend(q, k, v, make("rope"), backend="flex", dropout=0.1),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_it_cannot_do_is_refused(what):
    with pytest.raises(BackendError) as error:
        REFUSED[what](*heads(5, dtype=torch.float32))
    assert error.value.given is not None and "sdpa" in error.value.do


def test_without_a_compiler_it_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(BackendError, match="C\\+\\+ compiler"):
        attend(*heads(5, dtype=torch.float32), make("rope"), backend="flex")


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("name", ["rope", "alibi"])
def test_no_token_and_one(name, n):
    q, k, v = heads(n)
    out = attend(q, k, v, make(name), mask=CAUSAL, backend=Flex(compiled=False))
    assert gap(out, v.repeat_interleave(2, dim=1)) < 1e-14
