"""Handwritten digits, or pictures of the user's own, read as square patches: say what is shown.

A picture of 4 x 4 numbers, 0 to f, in patches of 2 x 2, and `label` its answer:

    0123
    4567    tokens  ?    0145  2367  89cd  abef    ? -> label
    89ab    grid    0,0  1,1   1,2   2,1   2,2
    cdef    flat    0    1     2     3     4

`positions` says where patches lie: at their row and column, or one after another, row by row. Then a lower neighbour is
as far away as a row is long, and on a wider grid all rows but the first lie elsewhere (claim C19). The question stands
before the patches, at the origin, which is as far from each of them whatever the size of the grid. A picture that is
moved lies elsewhere as seen from there, also for an encoding that knows distances only; with `question=nowhere` it has
no place, so that only the patches have distances.

`length` is the side of a square canvas in patches. Each picture is cut to what is not blank and laid in its middle;
blank is 0, and the numbers are divided by their root mean square. Measured by themselves are pictures that lie `shifts`
pixels to the right or farther down, and a canvas of `wider` more blank columns at its right: there all patches keep
their row and column, and lose their number. Rows that have fewer tokens than others are padded at the end.

A tenth of the pictures each is the test and the validation, by the hash of their pixels.
"""

from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from gnomon import positions as places
from gnomon.errors import DataError, OptionError
from gnomon.lab.data import pictures
from gnomon.lab.seeds import generator
from gnomon.lab.task import Batch, Chance, Group, Task
from gnomon.lab.tasks.held_out import TENTHS, assigned, commonest, halfway, split
from gnomon.lab.tasks.question import answered, ask
from gnomon.positions import Positions


class Images(Task):
    """Pictures on a canvas of `length` x `length` patches of `patch` x `patch` pixels.

    positions: `grid` or `flat`. question: at the `origin`, or `nowhere`.
    shifts:    pixels that a picture is moved by. wider: columns of patches that a canvas has more. Each is measured.
    jitter:    in training a picture is moved by up to so many pixels along each axis.
    share:     of the training pictures, those that are trained on.
    """

    causal = False

    def __init__(
        self,
        path: str | None = None,
        patch: int = 4,
        positions: Literal["grid", "flat"] = "grid",
        question: Literal["origin", "nowhere"] = "origin",
        shifts: tuple[int, ...] = (4, 8),
        wider: int = 3,
        jitter: int = 0,
        share: float = 1.0,
    ):
        if patch < 1 or min((0, wider, jitter, *shifts)) < 0 or not 0 < share <= 1:
            raise OptionError(
                "pictures have patches, and are moved by whole pixels",
                given=f"patch {patch}, shifts {list(shifts)}, wider {wider}, jitter {jitter}, share {share}",
                allowed="patch 1 or more, share above 0 to 1, the others 0 or more",
            )
        found = pictures.load(path)
        self.patch, self.positions, self.question, self.jitter, self.wider = patch, positions, question, jitter, wider
        self.moves = [(0, 0)]
        self.groups = (Group("as trained"),)
        for shift in dict.fromkeys(shift for shift in shifts if shift):
            self.moves += [(0, shift), (shift, 0)]
            self.groups += (Group(f"{shift} right", shift <= jitter), Group(f"{shift} down", shift <= jitter))
        if wider:
            self.moves.append((0, 0))
            self.groups += (Group(f"{wider} wider", False),)
        self.name, self.digest, self.classes = found.name, found.digest, sorted(set(found.labels))
        self.parts = split([picture.tobytes() for picture in found.pixels], TENTHS)
        self.parts["train"] = self.parts["train"][: max(1, round(share * len(self.parts["train"])))]
        ink = torch.from_numpy(_cut(found.pixels))
        self.pixels = ink / ink[self.parts["train"]].square().mean().sqrt().clamp(min=1e-12)
        self.labels = torch.tensor([self.classes.index(label) for label in found.labels])
        self.vocabulary, self.features = len(self.classes), patch * patch + 1

    def batch(self, seed: int, step: int, count: int, length: int) -> Batch:
        self.check_length(length)
        drawn, train = generator("batch", seed, step), self.parts["train"]
        which = torch.tensor(train)[torch.randint(len(train), (count,), generator=drawn)]
        moves = torch.randint(-self.jitter, self.jitter + 1, (count, 2), generator=drawn)
        return self._laid(which, moves, length, length)

    def examples(self, part: str, length: int, count: int) -> Batch:
        """`count` pictures of the part, fewer where it has fewer: the same ones in every group."""
        self.check_length(length)
        held = torch.tensor(self.parts[part][:count])
        group, number = assigned(self.groups, len(held))
        which, moves = held[number], torch.tensor(self.moves)[group]
        wide = torch.zeros_like(group) if not self.wider else (group == len(self.groups) - 1)
        square, more = (
            self._laid(which[rows], moves[rows], length, columns)
            for rows, columns in ((wide == 0, length), (wide == 1, length + self.wider))
        )
        return replace(_joined(square, more) if self.wider else square, group=group)

    def chance(self, length: int) -> Chance:
        return commonest(self.labels[self.parts["train"]].tolist())

    def learned(self, length: int) -> float:
        return halfway(self.chance(length))

    def check_length(self, length: int) -> None:
        needed = max(self.pixels.shape[1:]) + 2 * max(self.jitter, *(max(move) for move in self.moves))
        least = -(-needed // self.patch)
        if length < least:
            raise OptionError(
                "the canvas is too small for the pictures and their shifts",
                given=f"{length} patches of {self.patch} pixels, for {needed} pixels",
                allowed=f"length {least} or more",
                do="choose longer lengths, or smaller shifts: shifts=[]",
            )

    def describe(self) -> dict:
        return {
            "name": self.name,
            "digest": self.digest,
            "form": f"patches of {self.patch} x {self.patch} pixels, positions {self.positions}; "
            "scored at one token before them",
            "length": "patches along a side of the canvas",
            "split": "by the hash of the pixels: a tenth each for validation and the test",
            "classes": self.classes,
            "pictures": {part: len(numbers) for part, numbers in self.parts.items()},
        }

    def _laid(self, which: Tensor, moves: Tensor, rows: int, columns: int) -> Batch:
        """The pictures on a canvas of so many patches; they lie in the middle of its square part, moved by `moves`."""
        pixels, p = self.pixels[which], self.patch
        canvas = torch.zeros(len(which), rows * p, columns * p)
        # Down and to the right by (row, column): one number a picture and axis, spread over its pixels.
        first = [(rows * p - size) // 2 + move for size, move in zip(pixels.shape[1:], moves.unbind(dim=1))]
        down, right = (start[:, None] + torch.arange(size) for start, size in zip(first, pixels.shape[1:]))
        canvas[torch.arange(len(which))[:, None, None], down[:, :, None], right[:, None, :]] = pixels
        patches = canvas.unflatten(2, (columns, p)).unflatten(1, (rows, p)).transpose(2, 3).flatten(3).flatten(1, 2)
        inputs = ask(patches, 0)
        return Batch(inputs, answered(self.labels[which], inputs.shape[1], 0), self._places(rows, columns))

    def _places(self, rows: int, columns: int) -> Positions:
        pos = places.sequence(1 + rows * columns)
        if self.positions == "grid":
            origin = torch.zeros(1, 1, 2, dtype=torch.float64)
            pos = places.timed(torch.cat([origin, 1 + places.grid(rows, columns).coords], dim=1))
        return pos if self.question == "origin" else replace(pos, placed=torch.arange(pos.length)[None] > 0)


def _cut(pixels: np.ndarray) -> np.ndarray:
    """Every picture cut to what is not blank, in the middle of a box that holds the largest of them."""
    boxes = []
    for picture in pixels:
        rows, columns = picture.any(axis=1).nonzero()[0], picture.any(axis=0).nonzero()[0]
        if not len(rows):
            raise DataError("a picture is blank", given=f"{len(boxes)} pictures come before it", do="leave it out")
        boxes.append(picture[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1])
    size = np.array([box.shape for box in boxes]).max(axis=0)
    cut = np.zeros((len(boxes), *size), dtype=np.float32)
    for into, box in zip(cut, boxes):
        down, right = (size - box.shape) // 2
        into[down : down + box.shape[0], right : right + box.shape[1]] = box
    return cut


def _joined(short: Batch, long: Batch) -> Batch:
    """The rows of both, those of `short` padded at the end to the length of `long`."""
    n, more = long.inputs.shape[1], long.inputs.shape[1] - short.inputs.shape[1]
    inputs = torch.cat([torch.nn.functional.pad(short.inputs, (0, 0, 0, more)), long.inputs])
    targets = torch.cat([answered(short.targets[:, 0], n, 0), long.targets])
    segment = torch.zeros(len(inputs), n, dtype=torch.int64)
    segment[: len(short.inputs), n - more :] = -1
    coords = long.pos.coords
    if coords.shape[2] > 1:
        there = torch.cat([short.pos.coords, coords[:, :1].expand(-1, more, -1)], dim=1)
        rows = [field.expand(len(batch.inputs), -1, -1) for field, batch in ((there, short), (coords, long))]
        coords = torch.cat(rows)
    return Batch(inputs, targets, Positions(coords, segment=segment, placed=long.pos.placed))
