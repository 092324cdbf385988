"""gnomon: how Transformers know position. Encodings that are exact at any positions, and measures of how they hold."""

import importlib

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
    "Mask": "gnomon.pairs",
    "CAUSAL": "gnomon.pairs",
    "BIDIRECTIONAL": "gnomon.pairs",
    "Cache": "gnomon.kv_cache",
    "UserError": "gnomon.errors",
}
_MODULES = ("positions", "pairs", "encodings", "backends", "laws", "lab", "report", "errors")

__all__ = [*_HOME, "positions", "encodings", "__version__"]


def __getattr__(name: str):
    # Loaded on first use: the command line answers --help without waiting for torch.
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"gnomon.{name}")
    raise AttributeError(f"module 'gnomon' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
