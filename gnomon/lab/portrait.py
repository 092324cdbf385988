"""What an encoding looks like: one number for each distance, head by head, read off its definition."""

import torch

from gnomon.encoding import Encoding, Shape
from gnomon.positions import Positions


def portrait(encoding: Encoding, shape: Shape, longest: int) -> dict | None:
    """The encoding as a function of distance 0 .. longest - 1, or None for one that does nothing.

    kind `absolute`: the cosine of the angle between what is added at position 0 and at each later one.
    kind `bias`:     what is added to the logit of a pair, whatever its content: `score` of zero vectors.
    kind `content`:  the root mean square of what a random query adds to the logit of a key, whatever the key.
    kind `rotation`: the expected logit of a random query with a key equal to it, over that at distance 0; exact, since
                     the expectation over directions is the mean over a basis.
    Returns {"kind", "title", "distance": [n], "heads": [h or 1][n]}; heads that are all alike are given once.
    """
    longest = int(min(longest, encoding.domain.highest + 1))
    axes = encoding.domain.axes or 1
    line = Positions(torch.arange(longest, dtype=torch.float64)[None, :, None].expand(1, longest, axes))
    with torch.no_grad():
        for kind, look in (("absolute", _absolute), ("bias", _bias), ("content", _content), ("rotation", _rotation)):
            seen = look(encoding, shape, line)
            if seen is not None and (seen - seen[:, :1]).abs().max() > 1e-9:
                heads = seen[:1] if torch.allclose(seen, seen[:1].expand_as(seen)) else seen
                return {
                    "kind": kind,
                    "title": _TITLES[kind],
                    "distance": list(range(longest)),
                    "heads": heads.tolist(),
                }
    return None


_TITLES = {
    "absolute": "cosine between position 0 and a later one",
    "bias": "number added to the logit",
    "content": "what a random query adds to the logit, root mean square",
    "rotation": "expected logit of a query with itself, relative",
}


def _absolute(encoding: Encoding, shape: Shape, line: Positions) -> torch.Tensor | None:
    added = encoding.absolute(line)
    if not isinstance(added, torch.Tensor):
        return None
    unit = torch.nn.functional.normalize(added[0].to(torch.float64), dim=-1)
    return (unit @ unit[0])[None]


def _bias(encoding: Encoding, shape: Shape, line: Positions) -> torch.Tensor:
    q = torch.zeros(1, shape.heads, 1, shape.head_dim, dtype=torch.float64)
    k = torch.zeros(1, shape.heads, line.length, shape.head_dim, dtype=torch.float64)
    return _by_distance(encoding, q, k, line)[0]


def _content(encoding: Encoding, shape: Shape, line: Positions) -> torch.Tensor:
    q = torch.eye(shape.head_dim, dtype=torch.float64)[:, None, None].expand(-1, shape.heads, 1, -1)
    k = torch.zeros(shape.head_dim, shape.heads, line.length, shape.head_dim, dtype=torch.float64)
    # Over queries of independent components with variance 1, the mean square is the sum over a basis.
    return (_by_distance(encoding, q, k, line) - _bias(encoding, shape, line)).square().sum(0).sqrt()


def _rotation(encoding: Encoding, shape: Shape, line: Positions) -> torch.Tensor:
    basis = torch.eye(shape.head_dim, dtype=torch.float64)
    q = basis[:, None, None].expand(-1, shape.heads, 1, -1)
    k = basis[:, None, None].expand(-1, shape.heads, line.length, -1)
    content = _by_distance(encoding, q, k, line).mean(0) - _bias(encoding, shape, line)
    return content / content[:, :1]


def _by_distance(encoding: Encoding, q: torch.Tensor, k: torch.Tensor, line: Positions) -> torch.Tensor:
    """The logits of the last token, as a query, with each token of the line, the nearest first: `[b, h, n]`."""
    logits = encoding.score(q, k, line.tokens(line.length - 1, line.length), line)
    return logits[:, :, 0].flip(-1).to(torch.float64)
