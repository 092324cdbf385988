"""A small convolutional net as the reference of weight sharing, trained and measured as a Transformer is.

It reads the same tokens at the same places: on a line in their order, on a grid at their row and column. What it learns
of one place holds at all of them, and the largest answer anywhere counts, so no position can be over-fitted.
"""

import torch
from torch import Tensor, nn

from gnomon.errors import OptionError
from gnomon.lab.experiment import Experiment
from gnomon.lab.task import Task
from gnomon.past import NoCache, Past
from gnomon.positions import Positions


class Convolution(nn.Module):
    """`depth` convolutions over three tokens along each axis, the maximum over all tokens, a linear map to classes.

    For tasks whose tokens are vectors and whose one answer is asked for by a token that the last feature marks
    (`gnomon.lab.tasks.question`). That token and padding are left out: where a token is 0, and where none is, is alike.
    """

    encodings = ()
    memory = 0

    def __init__(self, features: int, vocabulary: int, width: int, depth: int, axes: int):
        super().__init__()
        if axes not in (1, 2):
            raise OptionError("a convolution runs over a line or a grid", given=f"{axes} axes", allowed="1 or 2")
        kind = nn.Conv1d if axes == 1 else nn.Conv2d
        sizes = [features, *[width] * depth]
        self.axes = axes
        self.layers = nn.ModuleList(kind(i, o, 3, padding=1) for i, o in zip(sizes[:-1], sizes[1:], strict=True))
        self.out = nn.Linear(width, vocabulary)

    def past(self) -> Past:
        """Nothing: sequences with answers stand alone."""
        return NoCache()

    def forward(self, tokens: Tensor, pos: Positions, cache: Past | None = None) -> Tensor:
        """Logits of `tokens` `[b, n, features]`, the same at every token of a sequence: `[b, n, vocabulary]`."""
        there = (pos.segments() >= 0) & (tokens[..., -1] == 0)
        x, there = self._spread(tokens * there[..., None], there, pos)
        for layer in self.layers:
            x = nn.functional.gelu(layer(x)) * there
        best = x.masked_fill(there == 0, -torch.inf).flatten(2).amax(dim=2)
        return self.out(best)[:, None].expand(-1, tokens.shape[1], -1)

    def _spread(self, tokens: Tensor, there: Tensor, pos: Positions) -> tuple[Tensor, Tensor]:
        """The tokens where they lie, `[b, features, n]` or `[b, features, rows, columns]`, and where there is one."""
        if pos.axes != self.axes:
            raise OptionError("other axes than the net has", given=f"{pos.axes} axes", allowed=f"{self.axes}")
        if self.axes == 1:
            return tokens.transpose(1, 2), there[:, None].to(tokens.dtype)
        place = pos.coords.to(torch.int64).expand(len(tokens), -1, -1)
        if place.min() < 0 or (place != pos.coords).any():
            raise OptionError("a grid has whole rows and columns", given="other positions", allowed="0, 1, 2, ...")
        rows, columns = (int(size) + 1 for size in place.amax(dim=(0, 1)))
        at = (place[..., 0] * columns + place[..., 1])[..., None]
        both = torch.cat([tokens, there[..., None].to(tokens.dtype)], dim=2)
        # Tokens left out are 0, so it does not matter whose place they share.
        grid = both.new_zeros(len(tokens), rows * columns, both.shape[2])
        grid = grid.scatter_add(1, at.expand(-1, -1, both.shape[2]), both).transpose(1, 2).unflatten(2, (rows, columns))
        return grid[:, :-1], grid[:, -1:]


def model(experiment: Experiment, task: Task) -> Convolution:
    """The untrained net for what a task's tokens are; of the model of the experiment its width and depth count.

    OptionError where tokens are no vectors, or lie on no line and no grid.
    """
    if getattr(task, "features", None) is None:
        raise OptionError("a convolution reads vectors", given=experiment.title, allowed="images, series, ecg")
    probe = task.batch(experiment.seed, 0, 2, experiment.training.length)
    axes = 1 if probe.pos is None else probe.pos.axes
    return Convolution(task.features, task.vocabulary, experiment.model.width, experiment.model.depth, axes)
