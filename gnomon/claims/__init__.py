"""The claims of the two documents: each with its check, its rule, its verdict and the numbers behind it."""

from gnomon.claims import c01, c02, c03, c04, c05, c10, c14, c15, c18, c19, c29, c34
from gnomon.claims.claim import Claim
from gnomon.claims.training import TRAINING

MODULES = (c01, c02, c03, c04, c05, c10, c14, c15, c18, c19, c29, c34)
"""Claims that have evidence, a file each; their rules are in `rules/`."""

CLAIMS: dict[str, Claim] = {
    claim.id: claim for claim in sorted((*(module.CLAIM for module in MODULES), *TRAINING), key=lambda each: each.id)
}
