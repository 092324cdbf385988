"""The first whole number at which something holds, where all of them are too many to look at."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from gnomon.analysis.arguments import check_size
from gnomon.checked import checked

EACH = 2**17
"""Below it every place is looked at."""
STRETCH, STEPS = 512, 16
"""Beyond: so many places in a row, so many times from one power of two to the next."""
_BLOCK = 2**13


@checked
def first_place(holds: Callable[[Tensor], Tensor], last: int, each: int = EACH, first: int = 0) -> int | None:
    """The first of places `first` .. last at which `holds`, `[n] int64 -> [n] bool`, is true; None: none was found.

    Each of the first `each` places is looked at. Beyond them, stretches of places, of which one begins at every power
    of two: there rounding becomes coarser, so what rounding does begins there or grows until a stretch shows it. Where
    a stretch does, every place since the stretch before it is looked at. So no place before the one that is returned
    holds unless it lies before a stretch that does not, and None says that none of the first `each` places does,
    and no stretch. OptionError for other places than 0 .. 2^53.
    """
    check_size(first, "places begin somewhere", 0, 2**53)
    check_size(last, "places end somewhere", 0, 2**53)
    check_size(each, "places that are looked at one by one", 1, 2**53)
    begin = first
    for start, stop in _stretches(first, each, last):
        # The first is looked at whole; the others tell whether the way to them is worth a look.
        if start == first or _any(holds, start, stop):
            found = _scan(holds, begin, stop)
            if found is not None:
                return found
        begin = stop
    return None


def _stretches(first: int, each: int, last: int) -> Iterator[tuple[int, int]]:
    """First place and end of each stretch, in order and apart from each other."""
    end = min(first + each, last + 1)
    yield first, end
    octave = max(end.bit_length() - 1, 0)
    while 2**octave <= last:
        for step in range(STEPS):
            start = max(int(2 ** (octave + step / STEPS)), end)
            stop = min(start + STRETCH, last + 1)
            if start < stop:
                yield start, stop
                end = stop
        octave += 1


def _any(holds: Callable[[Tensor], Tensor], start: int, stop: int) -> bool:
    return bool(holds(torch.arange(start, stop)).any())


def _scan(holds: Callable[[Tensor], Tensor], start: int, stop: int) -> int | None:
    """The first of start .. stop - 1, in blocks that grow: mostly it is an early one."""
    size = 64
    while start < stop:
        end = min(start + size, stop)
        true = holds(torch.arange(start, end)).nonzero()
        if len(true):
            return start + int(true[0])
        start, size = end, min(4 * size, _BLOCK)
    return None
