"""Positions: where each token is, when it comes, which document it belongs to, and whether it has a place at all."""

from gnomon.positions.grids import grid, multimodal
from gnomon.positions.lines import batch, packed, padded, randomised, sequence, timed
from gnomon.positions.tokens import FURTHEST, KINDS, Positions

__all__ = [
    "FURTHEST",
    "KINDS",
    "Positions",
    "batch",
    "grid",
    "multimodal",
    "packed",
    "padded",
    "randomised",
    "sequence",
    "timed",
]
