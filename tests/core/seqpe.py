"""SeqPE as its tests make and read it."""

import torch

from gnomon.encodings.seqpe import SeqPE
from tests.core.common import HEAD_DIM, HEADS, WIDTH, weigh

FORMS = ["scalar", "additive", "multiplicative", "input"]
VARIANTS = [{"form": form} for form in FORMS] + [{"projection": "layer"}, {"projection": "none"}]
VARIANTS += [{"form": "additive", "projection": "layer"}]


def seqpe(**options) -> SeqPE:
    return weigh(SeqPE(WIDTH, HEADS, HEAD_DIM, **options).double())


def read(encoding: SeqPE, places: list) -> torch.Tensor:
    """What is read at places on one axis, or at tuples on several."""
    coords = torch.as_tensor(places, dtype=torch.float64)
    return encoding.reader(coords.view(1, len(places), -1), torch.float64)[0]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
