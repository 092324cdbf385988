"""gnomon: how Transformers know position. Encodings that are exact at any positions, and measures of how they hold."""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gnomon import backends, convert, encodings, errors, lab, laws, pairs, positions, report
    from gnomon.attention import Attention, attend
    from gnomon.encoding import Domain, Encoding, Property, Shape
    from gnomon.errors import UserError
    from gnomon.kv_cache import Cache, SinkCache, WindowCache
    from gnomon.masks import BIDIRECTIONAL, CAUSAL, Mask
    from gnomon.memory import Memory
    from gnomon.positions import Positions
    from gnomon.transformer import Transformer

__version__ = "0.1.0"

_HOME = {
    "Attention": "gnomon.attention",
    "attend": "gnomon.attention",
    "Transformer": "gnomon.transformer",
    "Encoding": "gnomon.encoding",
    "Property": "gnomon.encoding",
    "Domain": "gnomon.encoding",
    "Shape": "gnomon.encoding",
    "Positions": "gnomon.positions",
    "Mask": "gnomon.masks",
    "CAUSAL": "gnomon.masks",
    "BIDIRECTIONAL": "gnomon.masks",
    "Cache": "gnomon.kv_cache",
    "Memory": "gnomon.memory",
    "SinkCache": "gnomon.kv_cache",
    "WindowCache": "gnomon.kv_cache",
    "UserError": "gnomon.errors",
}
_MODULES = ("positions", "pairs", "encodings", "backends", "convert", "laws", "lab", "report", "errors")

__all__ = [
    "BIDIRECTIONAL",
    "CAUSAL",
    "Attention",
    "Cache",
    "Domain",
    "Encoding",
    "Mask",
    "Memory",
    "Positions",
    "Property",
    "Shape",
    "SinkCache",
    "Transformer",
    "UserError",
    "WindowCache",
    "__version__",
    "attend",
    "backends",
    "convert",
    "encodings",
    "errors",
    "lab",
    "laws",
    "pairs",
    "positions",
    "report",
]


def __getattr__(name: str):
    # Loaded on first use: the command line answers --help without waiting for torch.
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"gnomon.{name}")
    raise AttributeError(f"module 'gnomon' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
