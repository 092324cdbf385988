"""Buckets of relative distance: exact near by, logarithmic farther away, saturated far off."""

import math

import torch
from torch import Tensor

EDGE = 1e-9
"""A distance that falls short of a bucket's edge by less than this belongs to the bucket: 4.3 - 2.3 is not quite 2."""


def t5_bucket(rho: Tensor, *, causal: bool, buckets: int, max_distance: int) -> Tensor:
    """The bucket of `rho = p_j - p_i` (key minus query, real), int64 in `0 .. buckets - 1`.

    Raffel et al. 2020, section 2.1, as released (Mesh TensorFlow, `_relative_position_bucket`): half of the buckets
    hold one distance each, the other half grow logarithmically up to `max_distance`; without `causal` the past has
    the lower half of all buckets and the future the upper half.
    """
    if causal:
        first, distance = 0, (-rho).clamp(min=0) + EDGE
    else:
        buckets = buckets // 2
        first, distance = (rho > EDGE) * buckets, rho.abs() + EDGE
    exact = buckets // 2
    # In float64 always: in low precision a distance falls on either side of the edge of a bucket. To compare it with
    # each edge is faster than a logarithm.
    distance, growth = distance.to(torch.float64), math.log2(max_distance / exact) / (buckets - exact)
    bucket = distance.clamp(max=exact).to(torch.int32)
    for step in range(1, buckets - exact):
        bucket = bucket + (distance >= exact * 2.0 ** (growth * step)).to(torch.int32)
    return first + bucket.to(torch.int64)


def t5_last_edge(*, causal: bool, buckets: int, max_distance: int) -> float:
    """The distance from which on all have one bucket, on either side."""
    buckets = buckets if causal else buckets // 2
    exact = buckets // 2
    growth = math.log2(max_distance / exact) / (buckets - exact)
    return exact * 2.0 ** (growth * (buckets - exact - 1))


def deberta_bucket(steps: Tensor, *, buckets: int, max_distance: int) -> Tensor:
    """The bucket of whole distances `steps`, int64 and of the same sign; beyond `max_distance` there is no end to them.

    He et al. 2021, as released with version 2: up to `buckets / 2` the distance itself, from there on logarithmic so
    that `max_distance - 1` has the bucket `buckets - 1`.
    """
    middle = buckets // 2
    far = steps.abs().to(torch.float64).clamp(min=middle) / middle
    growth = far.log() / math.log((max_distance - 1) / middle) * (middle - 1)
    bucket = torch.where(steps.abs() <= middle, steps.abs(), (growth - EDGE).ceil().to(torch.int64) + middle)
    return steps.sign() * bucket
