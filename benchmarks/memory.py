"""Memory of one attention: how far one call grows a fresh process, over what the limit grows another."""

import functools

import torch

from benchmarks.measure import ChildFailed, fresh, grown
from benchmarks.rows import Row
from benchmarks.subjects import KINDS, SUBJECTS, Setting, plain

SMALL = 64
"""Tokens of the call that loads a process's code before its memory is measured."""


def memory(section: str, what: str, label: str, setting: Setting, kind: str, limit: str, bound: float | None) -> Row:
    """The row of one encoding over the limit of its kind."""
    row = dict(section=section, what=what, limit=limit, unit="B", bound=bound)
    try:
        found, base = fresh(growth, label=label, setting=setting, kind=kind), of_limit(setting, kind)
    except ChildFailed as error:
        return Row(**row, note=str(error))
    return Row(**row, value=found, of_limit=base, ratio=found / max(base, 1))


@functools.cache
def of_limit(setting: Setting, kind: str) -> int:
    """The growth of what a kind is measured over: plain SDPA, or the layer without positions."""
    return fresh(growth, label="none" if kind == "layer" else "", setting=setting, kind=kind)


def growth(label: str, setting: Setting, kind: str) -> int:
    """For a fresh process: the bytes by which one call grows it, code and inputs being there; no label: plain SDPA."""
    torch.manual_seed(0)

    def call(tokens: int):
        sized = setting.sized(tokens)
        return KINDS[kind](SUBJECTS[label], sized) if label else plain(sized)

    call(min(SMALL, setting.n))()
    return grown(call(setting.n))
