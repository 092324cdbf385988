"""Randomness that is a function of what it is for, so that a resumed run draws what an undisturbed one draws."""

import hashlib

import torch


def seed_of(*what: object) -> int:
    """A seed below 2^63 from names and numbers; the same on every machine and in every version of Python."""
    digest = hashlib.sha256(" ".join(map(str, what)).encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def generator(*what: object) -> torch.Generator:
    """A CPU generator seeded by `seed_of`."""
    return torch.Generator().manual_seed(seed_of(*what))
