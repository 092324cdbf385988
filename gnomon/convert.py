"""From other people's checkpoints to rope: rows of projections from one pairing to the other, and rotary settings."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from gnomon.checked import checked
from gnomon.encodings.rotation import Pairing, check_pairing
from gnomon.errors import OptionError, unknown
from gnomon.model_types import HALVES, NEIGHBOURS, SWITCHED
from gnomon.typed import typed


@checked
def paired(rows: Tensor, head_dim: int, to: Pairing, *, rotary: int | None = None) -> Tensor:
    """The same projection for the other pairing of dimensions: its output under rope is what it was.

    rows:   `[heads * head_dim, ...]`: the weight of the query or key projection, its bias, or the gain of a norm of
            queries or keys, `[head_dim]`. Split fused projections first; leave values and the output projection alone.
    to:     the pairing it shall have; it has the other one now.
    rotary: how many leading dimensions of each head are rotated; absent: all.

    Queries and keys have their own numbers of heads, and both are told from the shape.
    """
    rotary = head_dim if rotary is None else rotary
    check_pairing(to, "rope")
    if rows.dim() < 1 or rows.shape[0] < head_dim or rows.shape[0] % head_dim:
        raise OptionError(
            "a projection has rows for each dimension of each head",
            given=f"shape {list(rows.shape)}, head_dim {head_dim}",
            allowed=f"a multiple of {head_dim} rows",
            do="give the weight as torch.nn.Linear has it, [out, in]; split a fused projection first",
        )
    if rotary % 2 or not 0 <= rotary <= head_dim:
        raise OptionError("pairs of dimensions are rotated", given=f"rotary={rotary}", allowed=f"even, 0 to {head_dim}")
    heads = rows.unflatten(0, (-1, head_dim))
    turned, rest = heads[:, :rotary], heads[:, rotary:]
    apart = (-1, 2) if to == "half" else (2, -1)
    turned = turned.unflatten(1, apart).transpose(1, 2).flatten(1, 2) if rotary else turned
    return torch.cat([turned, rest], dim=1).flatten(0, 1)


SCHEMES = {"default": None, "su": "longrope", "mrope": None} | {
    name: name for name in ("linear", "dynamic", "yarn", "llama3", "longrope", "proportional", "ntk")
}
"""What a `rope_type` is called here, those of older checkpoints too."""

READ: dict[str | None, tuple[str, ...]] = {
    None: (),
    "linear": ("factor",),
    "ntk": ("factor",),
    "dynamic": ("factor",),
    "yarn": ("factor", "attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor"),
    "longrope": ("factor", "attention_factor", "short_factor", "long_factor"),
    "proportional": ("factor",),
}
"""Which parameters each scheme reads; they have the same names here."""

ELSEWHERE = (
    "rope_type", "type", "rope_theta", "partial_rotary_factor", "original_max_position_embeddings", "mrope_section",
    "mrope_interleaved",
)  # fmt: skip
"""Parameters that every scheme may have, read in their own places."""

BESIDE_ALPHA = ("alpha", "factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim")
"""What checkpoints of HunYuan have, whose code reads `alpha` where it is not 0 and none of the others."""


@runtime_checkable
class Config(Protocol):
    """A config of transformers, or whatever else says the same of itself as a dict."""

    def to_dict(self) -> dict[str, Any]: ...


@checked
def rope_options(
    config: Mapping[str, Any] | Config, *, layer_type: str | None = None, pairing: Pairing | None = None
) -> dict[str, Any]:
    """The options of `encodings.create("rope", shape, **options)` that a transformers config asks for.

    config:     a config, its `to_dict()`, or the contents of config.json; that of the text model where there are more.
    layer_type: "full_attention", "sliding_attention", ...: needed where layers of different types rotate differently.
    pairing:    how the model pairs dimensions; needed where `model_type` is missing or not one of model_types.

    Reads `rope_parameters` (flat, or nested by layer type) and the older `rope_scaling`, `rope_theta`, `rotary_pct`,
    `rotary_dim` and their kin. What cannot be known is an error, never a guess: transformers takes a missing
    original_max_position_embeddings for max_position_embeddings, which may be the extended length already.
    """
    config = config if isinstance(config, Mapping) else config.to_dict()
    parameters = _of_layer(config, layer_type)
    kind = parameters.get("rope_type", parameters.get("type", "default"))
    scheme = _scheme(kind, parameters)
    _check_names(kind, scheme, parameters)
    options: dict[str, Any] = {"theta": _theta(config, parameters, layer_type)}
    if _pairing(config, pairing) == "interleaved":
        options["pairing"] = "interleaved"
    fraction = _fraction(config, parameters)
    if fraction != 1:
        options["fraction"] = fraction
    sections = parameters.get("mrope_section")
    if sections is not None:
        options |= {"axes": len(sections), "sections": tuple(sections)}
        # The axes of pairs take turns; pairing stays what it is.
        if parameters.get("mrope_interleaved", str(config.get("model_type", "")).startswith("qwen3")):
            options["layout"] = "interleaved"
    if scheme is not None:
        options |= {"scaling": scheme} | _scaling(config, parameters, scheme)
    return options


def _pairing(config: Mapping[str, Any], pairing: Pairing | None) -> Pairing:
    """How dimensions are paired: as the caller says, or as the config or its model type does."""
    model = config.get("model_type")
    if pairing is not None:
        check_pairing(pairing, "rope")
        return pairing
    if "rope_interleave" in config and (model in SWITCHED or model not in (*HALVES, *NEIGHBOURS)):
        return "interleaved" if config["rope_interleave"] else "half"
    if model not in (*HALVES, *NEIGHBOURS):
        raise OptionError(
            "which dimensions are paired depends on the model, and no config says it",
            given="no model_type" if model is None else f"model_type {model!r}",
            allowed="a model_type listed in gnomon.model_types, or pairing='half' or 'interleaved'",
            do="see how its code rotates: pairing='half' for (x_m, x_{m + r/2}), 'interleaved' for (x_2m, x_{2m+1}); "
            "where a model has several configs, give that of its text model",
        )
    return "interleaved" if model in NEIGHBOURS else "half"


def _of_layer(config: Mapping[str, Any], layer_type: str | None) -> Mapping[str, Any]:
    """The parameters of one type of layer."""
    name = "rope_parameters" if config.get("rope_parameters") else "rope_scaling"
    found = typed(config.get(name) or {}, Mapping[str, Any], f"config, {name}")
    nested = {name: inner for name, inner in found.items() if isinstance(inner, Mapping) or inner is None}
    types = {name: inner for name, inner in nested.items() if isinstance(inner, Mapping)}
    if not types:
        local = [name for name in LOCAL if name in config]
        if local and layer_type is None:
            raise OptionError(
                "layers of different types rotate differently",
                given=f"{local[0]} beside the base of the other layers",
                allowed="full_attention, sliding_attention",
                do="say of which layers: layer_type='full_attention'",
            )
        # Where windowed layers have a base of their own, the scaling is that of the others.
        return {} if local and layer_type == "sliding_attention" and "global_rope_theta" not in config else found
    if layer_type is None and len({repr(inner) for inner in nested.values()}) > 1:
        raise OptionError(
            "layers of different types rotate differently",
            given="no layer_type",
            allowed=", ".join(nested),
            do=f"say of which layers: layer_type={next(iter(types))!r}, and build one encoding for each type",
        )
    if layer_type is None:
        return next(iter(types.values()))
    if layer_type not in nested:
        raise unknown("layer type", layer_type, nested)
    if nested[layer_type] is None:
        raise OptionError("these layers have no rotary positions", given=layer_type, do="give them the encoding 'none'")
    return nested[layer_type]


LOCAL = ("rope_local_base_freq", "local_rope_theta")
BASES = ("rope_theta", "global_rope_theta", "rotary_emb_base")


def _theta(config: Mapping[str, Any], parameters: Mapping[str, Any], layer_type: str | None) -> float:
    names = LOCAL if layer_type == "sliding_attention" and any(name in config for name in LOCAL) else BASES
    found = [parameters.get("rope_theta"), *(config.get(name) for name in names)]
    return _number(next((theta for theta in found if theta is not None), 10000.0), "the base of rotary positions")


def _fraction(config: Mapping[str, Any], parameters: Mapping[str, Any]) -> float:
    names = ("partial_rotary_factor", "rotary_pct", "rope_pct")
    found = [parameters.get("partial_rotary_factor"), *(config.get(name) for name in names)]
    said = next((fraction for fraction in found if fraction is not None), None)
    if said is not None or config.get("rotary_dim") is None:
        return 1.0 if said is None else _number(said, "the rotated fraction")
    width, heads = (
        config.get("hidden_size", config.get("n_embd")),
        config.get("num_attention_heads", config.get("n_head")),
    )
    head_dim = config.get("head_dim") or (width // heads if width and heads else None)
    if head_dim is None:
        raise OptionError(
            "a number of rotated dimensions is a fraction of the head's",
            given=f"rotary_dim={config['rotary_dim']} and no head_dim",
            do="add head_dim, or hidden_size and num_attention_heads",
        )
    return _number(config["rotary_dim"], "rotary_dim") / head_dim


def _scheme(kind: str, parameters: Mapping[str, Any]) -> str | None:
    if kind == "ntk_alpha" or (kind == "dynamic" and parameters.get("alpha")):
        return "ntk"
    # Early Phi-3 checkpoints call LongRoPE with its lists of factors by the name of another scheme.
    if kind == "yarn" and "long_factor" in parameters:
        return "longrope"
    if kind == "axial":
        raise OptionError(
            "axial rotation of images is laid out differently in every model",
            given="rope_type 'axial'",
            do="build it yourself: create('rope', shape, axes=2, theta=..., pairing=...)",
        )
    if not isinstance(kind, str) or kind not in SCHEMES:
        raise unknown("rope_type", str(kind), SCHEMES)
    return SCHEMES[kind]


def _check_names(kind: str, scheme: str | None, parameters: Mapping[str, Any]) -> None:
    """OptionError for a parameter that the scheme does not know: it is not overlooked."""
    allowed = (
        *READ[scheme],
        *(BESIDE_ALPHA if "alpha" in parameters and scheme in ("ntk", "dynamic") else ()),
        *ELSEWHERE,
    )
    for name in parameters:
        if name not in allowed:
            raise unknown(f"parameter of rope_type {kind!r}", str(name), allowed)


def _scaling(config: Mapping[str, Any], parameters: Mapping[str, Any], scheme: str) -> dict[str, Any]:
    """The options of one scheme."""
    if scheme == "ntk" and parameters.get("alpha"):
        return {"factor": _number(parameters["alpha"], "alpha")}
    # As transformers reads them, None says nothing, and neither does 0 where a number multiplies.
    said = {name: parameters[name] for name in READ[scheme] if parameters.get(name) is not None}
    options = {name: value for name, value in said.items() if value or name in ("truncate", "attention_factor")}
    for name in ("short_factor", "long_factor"):
        if name in options:
            options[name] = typed(options[name], tuple[float, ...], f"config, {name}")
    longest = config.get("max_position_embeddings")
    if scheme == "dynamic":
        options["original_length"] = _known(longest, "max_position_embeddings", scheme)
    if scheme in ("yarn", "llama3", "longrope"):
        name = "original_max_position_embeddings"
        length = parameters.get(name) if config.get(name) is None else config[name]
        options["original_length"] = _known(length, name, scheme)
    if scheme in ("longrope", "yarn") and "factor" not in options:
        longest = _known(longest, "factor, or max_position_embeddings", scheme)
        options["factor"] = max(longest / options["original_length"], 1.0)
    return options


def _known(value: float | None, name: str, scheme: str) -> float:
    if value is None:
        raise OptionError(
            f"{scheme} is defined by the length of the texts in training",
            given=f"a config without {name}",
            do="add it to the config: the length before extension, which max_position_embeddings may or may not be",
        )
    return _number(value, name)


def _number(value: Any, name: str) -> float:
    return typed(value, float, f"config, {name}")
