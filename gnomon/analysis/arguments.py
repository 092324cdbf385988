"""What functions of the analysis are given: finite real numbers, whole positions, sizes; what is none is refused."""

import torch
from torch import Tensor

from gnomon.checked import checked
from gnomon.errors import OptionError

PLACES = 2**20
"""The most places 0 .. n - 1 that a question looks at: each of them is looked at, many in balls."""

FARTHEST = 10**15
"""The largest lag: angles are exact up to here."""

HELD = 2**26
"""The most numbers of a table of rows. A study holds sixteen of it, 64 bytes a number: 4 GiB."""

ALPHABET = {1: "[n]", 2: "[n, w]", 3: "[h, d, w]"}
"""Shapes by how many sizes they have."""


@checked
def real(values: Tensor, what: str, sizes: int | None = None) -> Tensor:
    """`values`, which are finite numbers of a float dtype, of so many sizes where `sizes` says so; or an OptionError.

    Nothing is computed from nan or infinity, which equal nothing and have no distance.
    """
    largest(values, what)
    if sizes is not None and values.dim() != sizes:
        raise OptionError(f"{what} have a shape", given=list(values.shape), allowed=ALPHABET.get(sizes, f"{sizes}-D"))
    return values


@checked
def coordinates(values: Tensor, what: str, sizes: int | None = None) -> Tensor:
    """As `real`, of a whole dtype too: as float64."""
    numbers = values.dtype != torch.bool and not values.is_complex()
    return real(values.to(torch.float64) if numbers else values, what, sizes)


@checked
def largest(values: Tensor, what: str) -> float:
    """The largest absolute value, 0 of none; OptionError for nan, infinity, or what is of no float dtype."""
    if not values.is_floating_point():
        raise OptionError(
            f"{what} are real numbers",
            given=f"a tensor of {values.dtype}",
            allowed="float64, float32, float16, bfloat16",
            do="convert it: x.double()",
        )
    low, high = (float(end) for end in values.detach().aminmax()) if values.numel() else (0.0, 0.0)
    # nan is the least and the largest of what holds it.
    if not low > -torch.inf or not high < torch.inf:
        wrong = int((~values.isfinite()).sum())
        raise OptionError(
            f"{what} are finite numbers", given=f"{wrong:,} that are nan or infinite", allowed="finite numbers"
        )
    return max(abs(low), abs(high))


@checked
def whole(values: Tensor, what: str, least: int, most: int) -> Tensor:
    """Whole numbers `[n]`, least .. most, as int64; floats may be whole too. OptionError for others."""
    if values.dtype == torch.bool or values.is_complex():
        raise OptionError(f"{what} are whole numbers", given=f"a tensor of {values.dtype}", allowed="int64")
    if values.dim() != 1:
        raise OptionError(f"{what} have a shape", given=list(values.shape), allowed=ALPHABET[1])
    if not values.numel():
        return values.to(torch.int64)
    if values.is_floating_point():
        largest(values, what)
        broken = (values != values.round()).nonzero()
        if len(broken):
            raise OptionError(f"{what} are whole numbers", given=float(values[broken[0, 0]]), allowed="whole numbers")
    low, high = values.min().item(), values.max().item()
    if low < least or high > most:
        beyond = int(low if low < least else high)
        raise OptionError(f"{what} are in a range", given=beyond, allowed=f"{least} to {most}")
    return values.to(torch.int64)


@checked
def check_size(value: int, what: str, least: int = 1, most: int = PLACES) -> None:
    """OptionError for a number of things outside least .. most."""
    if not least <= value <= most:
        near = least if value < least else most
        raise OptionError(what, given=value, allowed=f"{least} to {most}", do=f"the nearest that is allowed is {near}")


@checked
def check_seed(seed: int) -> None:
    """OptionError for what is no seed: others are made of it by adding and doubling."""
    check_size(seed, "a seed of random numbers", 0, 2**48)


@checked
def check_held(n: int, width: int) -> None:
    """OptionError where the rows of n places, `width` numbers each, are more than a study holds at once."""
    most = min(PLACES, HELD // max(width, 1))
    if not 2 <= n <= most:
        raise OptionError(
            "all rows are held at once, in every precision",
            given=f"{n} positions of {width} numbers",
            allowed=f"2 to {most} positions",
            do="ask for fewer positions, or a smaller width",
        )
