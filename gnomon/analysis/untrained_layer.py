"""One untrained attention layer around an encoding, what enters it, and how much what comes out has changed."""

import copy

import torch
from torch import Tensor

from gnomon.analysis.arguments import check_seed, check_size, real
from gnomon.attention import Attention
from gnomon.checked import checked
from gnomon.encoding import Encoding, Shape
from gnomon.encodings import build
from gnomon.errors import OptionError
from gnomon.masks import CAUSAL, Mask
from gnomon.positions import Positions


@checked
def around(
    encoding: Encoding, mask: Mask = CAUSAL, seed: int = 0, backend: str = "auto", width: int | None = None
) -> Attention:
    """An untrained attention layer in float64 around a copy of the encoding, of the sizes that it was built for.

    What it leaves open: `width`, 4 heads (or what divides the width) of width 16. Global random numbers stay as they
    are.
    """
    check_seed(seed)
    check_size(1 if width is None else width, "width of a model")
    given, heads, head_dim = encoding.width or width, encoding.heads, encoding.head_dim
    if heads is None:
        heads = given // head_dim if given and head_dim else next(h for h in (4, 3, 2, 1) if (given or 4) % h == 0)
    width = given or heads * (head_dim or 16)
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        own = copy.deepcopy(encoding)
        return Attention(width, heads, own, kv_heads=own.kv_heads, mask=mask, backend=backend).double().eval()


@checked
def drawn(kind: type[Encoding], shape: Shape, seed: int = 0, std: float = 0.3) -> Encoding:
    """An encoding of default options, float64, every parameter drawn from N(0, std^2).

    At their initial values many an encoding does too little to be seen, or nothing.
    """
    check_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        encoding = build(kind, shape).double()
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in encoding.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=g, dtype=torch.float64) * std)
    return encoding


@checked
def line(encoding: Encoding, n: int) -> Positions:
    """The first n whole places of the encoding's domain from 0 on, or all if there are fewer, equal on each axis."""
    check_size(n, "places on a line", 1, 4096)
    domain = encoding.domain
    first = max(domain.lowest, 0)
    coords = first + torch.arange(int(min(n, domain.highest - first + 1)), dtype=torch.float64)
    return Positions(coords[None, :, None].expand(-1, -1, domain.axes or 1).contiguous())


@checked
def contents(rows: int, n: int, width: int, seed: int = 0) -> Tensor:
    """Content of unit variance, `[rows, n, w]` float64."""
    check_seed(seed)
    check_size(width, "width of a model")
    check_size(min(rows, n), "rows and places of content")
    check_size(rows * n * width, "numbers of content", 1, 2**22)
    g = torch.Generator().manual_seed(10_000 + seed)
    return torch.randn(rows, n, width, generator=g, dtype=torch.float64)


@checked
def distance(changed: Tensor, before: Tensor) -> float:
    """|changed - before| / |before|, in root squares; 0 where both are 0."""
    if real(changed, "values").shape != real(before, "values").shape:
        raise OptionError("values are compared one by one", given=[list(changed.shape), list(before.shape)])
    size, apart = (float(t.detach().norm()) for t in (before, changed - before))
    return apart / size if size else 0.0 if apart == 0 else float("inf")
