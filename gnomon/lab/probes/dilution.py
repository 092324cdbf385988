"""How well each layer knows where a token is: a linear probe of the position, and its share of the residual stream."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from gnomon.errors import OptionError
from gnomon.lab import measures
from gnomon.lab.measures import Mean
from gnomon.lab.probes.probe import NotAsked, Result
from gnomon.lab.probes.reading import Reader, placed
from gnomon.lab.probes.subject import Subject
from gnomon.lab.task import Batch
from gnomon.section import Line, Lines, Table

KEY, TITLE = "dilution", "Position in each layer"
QUESTION = "How well can a token's position be read off the residual stream, layer by layer?"


@dataclass(frozen=True)
class Layer:
    """What enters the first layer, or what a layer leaves."""

    r2: Mean
    """1 - |p - guess|^2 / |p - mean|^2 of a linear guess of the position, on examples that it was not fitted to.

    1 is right, 0 is as good as the mean position; below 0 is worse than that.
    """
    share: Mean
    """The share of the variance of the residual stream that is a function of the position alone, without what chance
    gives; its error by the jackknife over examples."""


@dataclass(frozen=True)
class Dilution(Result):
    """What each layer knows of positions."""

    length: int
    fitted: int
    """Examples that the guess was fitted to; it is judged by the others."""
    nothing: float
    """About the R^2 of a guess fitted to what says nothing of the position: -w / (tokens - w - 1)."""
    layers: tuple[Layer, ...]
    """What enters the first layer, then what each layer leaves."""

    @property
    def signal_to_noise(self) -> tuple[float | None, ...]:
        """share / (1 - share) of each; None where all is position."""
        shares = (min(max(layer.share.mean, 0.0), 1.0) for layer in self.layers)
        return tuple(None if share == 1 else share / (1 - share) for share in shares)

    def tables(self) -> tuple[Table, ...]:
        rows = [
            (_named(at), layer.r2.mean, layer.r2.se, layer.share.mean, layer.share.se, ratio)
            for at, (layer, ratio) in enumerate(zip(self.layers, self.signal_to_noise, strict=True))
        ]
        note = (
            f"R^2 of a linear guess of the position on {self.layers[0].r2.count} examples, fitted to {self.fitted}"
            f" others; where nothing is known, about {self.nothing:.2g}. share: of the variance, explained by the"
            " position alone; signal/noise: share over the rest."
        )
        columns = ("after", "R^2", "se", "share", "se", "signal/noise")
        return (Table(f"Position in the residual stream, length {self.length}", columns, tuple(rows), note),)

    def figures(self) -> tuple[Lines, ...]:
        at = range(len(self.layers))
        lines = (
            Line.of("R^2 of a linear guess", at, [layer.r2 for layer in self.layers]),
            Line.of("share of the variance", at, [layer.share for layer in self.layers]),
        )
        return (Lines("Position in the residual stream", "layers passed", "R^2, share", lines),)

    def numbers(self) -> dict:
        return super().numbers() | {"signal_to_noise": list(self.signal_to_noise)}


def _named(at: int) -> str:
    return f"layer {at - 1}" if at else "input"


def dilution(reader: Reader, batch: Batch) -> Dilution:
    """Read the position off the residual stream after each layer.

    The guess is linear in the `w` dimensions of one token, by least squares, fitted to the first half of the examples.
    OptionError where examples, positions or tokens are too few to judge it: at least 4 examples of several positions,
    and twice as many fitted tokens as dimensions.
    """
    coords = placed(batch).coords
    real, rows = reader.tokens(batch), len(batch.targets)
    place = coords[..., 0].expand(rows, -1)
    half, width = rows // 2, reader.model.width
    known = int(real[:half].sum())
    if rows < 4 or known < 2 * width or coords.shape[2] != 1 or not _differ(place, real):
        raise OptionError(
            "a position is read off several examples, at several places of a line",
            given=f"{rows} examples, {known} tokens to fit {width} dimensions, {coords.shape[2]} axes",
            allowed=f"4 examples or more, {2 * width} tokens or more in the first half of them, one axis",
        )
    streams = [torch.cat(layer) for layer in zip(*(reader.hidden(part) for part in reader.parts(batch)), strict=True)]
    return Dilution(
        batch.targets.shape[1],
        half,
        -width / (known - width - 1),
        tuple(Layer(_guessed(x.double(), place, real, half), _share(x.double(), place, real)) for x in streams),
    )


def ask(subject: Subject) -> Dilution | NotAsked:
    """At the training length."""
    batch = subject.batch(subject.length)
    if placed(batch).axes != 1:
        return NotAsked("The tokens lie on several axes, and the question is about a line.")
    return dilution(subject.reader, batch)


def _differ(place: Tensor, real: Tensor) -> bool:
    return all(len(row[there].unique()) > 1 for row, there in zip(place, real, strict=True))


def _guessed(x: Tensor, place: Tensor, real: Tensor, half: int) -> Mean:
    """R^2 on the second half of the examples of a guess fitted to the first."""
    known, wanted = x[:half][real[:half]], place[:half][real[:half]]
    centre, middle = known.mean(dim=0), wanted.mean()
    # Directions that do not vary are left alone: their weights would be noise.
    weights = torch.linalg.lstsq(known - centre, (wanted - middle)[:, None], driver="gelsd", rcond=1e-10).solution
    guess = (x[half:] - centre) @ weights[:, 0] + middle
    found = []
    for each, told, there in zip(place[half:], guess, real[half:], strict=True):
        p = each[there]
        found.append(float(1 - (p - told[there]).square().sum() / (p - p.mean()).square().sum()))
    return measures.mean(np.array(found))


def _share(x: Tensor, place: Tensor, real: Tensor) -> Mean:
    """The variance between places less what chance gives, over the whole: omega squared of a one-way layout."""
    positions, which = place[real].unique(return_inverse=True)
    groups = torch.zeros(real.shape, dtype=torch.int64)
    groups[real] = which
    rows, count, width = len(x), len(positions), x.shape[2]
    sums, counts = torch.zeros(rows, count, width, dtype=x.dtype), torch.zeros(rows, count, dtype=x.dtype)
    x = torch.where(real[..., None], x - x[real].mean(dim=0), 0.0)
    sums.scatter_add_(1, groups[..., None].expand(-1, -1, width), x)
    counts.scatter_add_(1, groups, real.to(x.dtype))
    squares = x.square().sum(dim=(1, 2))
    total = sums.sum(0), counts.sum(0), squares.sum()
    whole = _omega(*total)
    # Without one example after the other: what remains of sums is known, so that none is made again.
    without = [_omega(total[0] - sums[b], total[1] - counts[b], total[2] - squares[b]) for b in range(rows)]
    left = np.array(without)
    se = float(np.sqrt((rows - 1) / rows * np.square(left - left.mean()).sum()))
    return Mean(whole, se, rows)


def _omega(sums: Tensor, counts: Tensor, squares: Tensor) -> float:
    """From the sum `[places, w]` and the count `[places]` at each place, and the sum of all squares."""
    there = counts > 0
    sums, counts = sums[there], counts[there]
    tokens, places = counts.sum(), len(counts)
    mean = sums.sum(0).square().sum() / tokens
    between, whole = (sums.square().sum(1) / counts).sum() - mean, squares - mean
    free = tokens - places
    noise = (whole - between) / free if free > 0 else whole * 0
    return float((between - (places - 1) * noise) / (whole + noise))
