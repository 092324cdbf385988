"""What the hooks of a user's encoding return, looked at on three tokens before a model is built around it."""

import inspect
from typing import Any

import torch
from torch import Tensor

from gnomon.encoding import Encoding, Mix, Property, Shape
from gnomon.errors import OptionError
from gnomon.pairs import Content, PairFunction, dense
from gnomon.positions import Positions
from gnomon.user_code import guarded, where

QUERIES, KEYS = 2, 3
"""The last two of three tokens ask: a transposed result has another shape."""


_seen: set[tuple[type[Encoding], Shape, str]] = set()
"""What has been looked at: an object with other weights returns the same shapes."""


def look(encoding: Encoding, shape: Shape, options: dict[str, Any]) -> None:
    """UserError, with its line, where a hook raises, or returns what attention cannot take. Once for a class as built.

    It changes nothing: neither random numbers nor modes. There is nothing to look at on the meta device, nor before
    an encoding has been told of the projections that it shares.
    """
    number = next(iter(encoding.parameters()), torch.zeros(0))
    key = type(encoding), shape, repr(options)
    if key in _seen or number.is_meta or type(encoding).serves is not Encoding.serves:
        return
    modes = {module: module.training for module in encoding.modules()}
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad(), torch.device(number.device):
            encoding.eval()
            _look(encoding, shape, torch.float64 if number.dtype == torch.float64 else torch.get_default_dtype())
    finally:
        for module, mode in modes.items():
            module.training = mode
    _seen.add(key)


def _look(encoding: Encoding, shape: Shape, dtype: torch.dtype) -> None:
    h, d, g = shape.heads, shape.head_dim, encoding.kv_heads or shape.heads
    sizes = (KEYS, shape.width), (h, QUERIES, d), (h, KEYS, d), (h, KEYS, d)
    x, q, k, v = (torch.randn(1, *size).to(dtype) for size in sizes)
    k_pos = _positions(encoding)
    q_pos = k_pos.tokens(KEYS - QUERIES, KEYS)
    _spread(encoding, "absolute", _called(encoding, "absolute", k_pos), x.shape)
    _exact(encoding, "embed", _called(encoding, "embed", x, k_pos), x.shape)
    contextual = Property.CONTEXTUAL in encoding.properties
    logits = (1, h, QUERIES, KEYS)
    _exact(encoding, "score", _called(encoding, "score", q, k, q_pos, k_pos, *[None] * contextual), logits)
    _spread(encoding, "value", _called(encoding, "value", v, q_pos, k_pos), (1, h, QUERIES, KEYS, d))
    few = k[:, :g]
    wide_q = _called(encoding, "query", q, _called(encoding, "prepare", q_pos, k_pos, dtype))
    wide_k = _called(encoding, "key", few, _called(encoding, "prepare", k_pos, k_pos, dtype))
    _widened(encoding, wide_q, wide_k, h, g, d)
    bias = _called(encoding, "bias", q, few, q_pos, k_pos)
    if bias is not None:
        _takes(encoding, "bias", bias, *[None] * 4)
        with guarded(type(encoding)):
            values = dense(_telling(encoding, bias), 1, h, QUERIES, KEYS, q.device)
        _spread(encoding, "bias", values, logits)
    _kind(encoding, "mix", _called(encoding, "mix", q_pos, k_pos), Mix | None)
    _kind(encoding, "scale", _called(encoding, "scale", d), float | int)
    layers = _called(encoding, "layers", 2)
    if not isinstance(layers, list) or [isinstance(layer, Encoding) for layer in layers] != [True, True]:
        raise _wrong(encoding, "layers", layers, "a list of as many encodings as layers are asked for")
    generator = torch.Generator(q.device).manual_seed(0)
    _kind(encoding, "draw", _called(encoding, "draw", k_pos, generator), Positions)
    _spread(encoding, "auxiliary", _called(encoding, "auxiliary", k_pos, generator), ())


def _widened(encoding: Encoding, q: Any, k: Any, h: int, g: int, d: int) -> None:
    """Queries and keys as the kernel takes them are equally wide; keys have g heads, or one for each query head."""
    of_key = type(encoding).key is not Encoding.key
    wide = q.shape[-1] if of_key and isinstance(q, Tensor) and q.dim() else d
    _exact(encoding, "query", q, (1, h, QUERIES, wide))
    _exact(encoding, "key", k, (1, h if isinstance(k, Tensor) and k.shape[1:2] == (h,) else g, KEYS, wide))


def _called(encoding: Encoding, hook: str, *arguments: Any) -> Any:
    call = getattr(encoding, hook)
    _takes(encoding, hook, call, *arguments)
    with guarded(type(encoding)):
        return call(*arguments)


def _takes(encoding: Encoding, hook: str, call: Any, *arguments: Any) -> None:
    """OptionError unless the hook, or the function that it has returned, can be called with so many arguments."""
    kind = type(encoding)
    if not callable(call):
        raise _wrong(encoding, hook, call, "a function of b, h, i, j")
    try:
        inspect.signature(call).bind(*arguments)
    except TypeError as error:
        asked = f"{where(kind, hook)}: {hook} of {kind.__name__} takes {len(arguments)} arguments"
        raise OptionError(asked, given=f"TypeError: {error}") from error


def _telling(encoding: Encoding, bias: PairFunction) -> PairFunction:
    """The function that `bias` has returned; OptionError once it returns no tensor."""

    def pair(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        value = bias(b, h, i, j)
        if not isinstance(value, Tensor):
            raise _wrong(encoding, "bias", value, "a function of b, h, i, j that returns a tensor")
        return value

    return bias if isinstance(bias, Content) else pair


def _positions(encoding: Encoding) -> Positions:
    """Places that the encoding takes, one after the other from its lowest or from 0."""
    domain = encoding.domain
    first = max(domain.lowest, min(0.0, domain.highest - KEYS))
    places = (first + torch.arange(KEYS, dtype=torch.float64)).clamp(max=domain.highest)
    return Positions(places[None, :, None].expand(1, KEYS, domain.axes or 1))


def _exact(encoding: Encoding, hook: str, found: Any, shape: tuple[int, ...]) -> None:
    if not isinstance(found, Tensor) or found.shape != shape:
        raise _wrong(encoding, hook, found, f"a tensor {list(shape)}")


def _spread(encoding: Encoding, hook: str, found: Any, shape: tuple[int, ...]) -> None:
    """`found` is a number or a tensor that broadcasts to the shape."""
    sizes = found.shape if isinstance(found, Tensor) else ()
    fits = len(sizes) <= len(shape) and all(a in (1, b) for a, b in zip(reversed(sizes), reversed(shape)))
    if not isinstance(found, Tensor | float | int) or not fits:
        allowed = f"a tensor that broadcasts to {list(shape)}" if shape else "a number, or a tensor of one"
        raise _wrong(encoding, hook, found, allowed)


def _kind(encoding: Encoding, hook: str, found: Any, kind: Any) -> None:
    if not isinstance(found, kind):
        raise _wrong(encoding, hook, found, getattr(kind, "__name__", str(kind)))


def _wrong(encoding: Encoding, hook: str, found: Any, allowed: str) -> OptionError:
    kind = type(encoding)
    given = f"a tensor {list(found.shape)}" if isinstance(found, Tensor) else repr(found)[:100]
    asked = f"{where(kind, hook)}: {hook} of {kind.__name__} returns something else"
    return OptionError(asked, given=given, allowed=allowed)
