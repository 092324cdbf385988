"""The claims of the two documents: each with its check, its rule, its verdict and the numbers behind it."""

from importlib import import_module

from gnomon.claims.claim import Claim

COUNT = 35

MODULES = tuple(import_module(f"gnomon.claims.c{number:02}") for number in range(1, COUNT + 1))
"""A file each; their rules are in `rules/`."""

CLAIMS: dict[str, Claim] = {module.CLAIM.id: module.CLAIM for module in MODULES}
