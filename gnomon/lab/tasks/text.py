"""Next-byte prediction: the vocabulary is the 256 bytes."""

import torch
from torch import Tensor

from gnomon.lab.corpus import Corpus
from gnomon.lab.measures import unigram
from gnomon.lab.seeds import generator
from gnomon.lab.task import Batch


class TextTask:
    """Text read as bytes.

    For the document `b"To be"`, a window of 4: inputs `T o _ b`, targets `o _ b e`.
    """

    vocabulary = 256
    features = None
    causal = True

    def __init__(self, corpus: Corpus):
        self.corpus = corpus
        self._train = _tensor(b"".join(corpus.train))
        self._sizes = torch.tensor([len(document) for document in corpus.train])

    def batch(self, seed: int, step: int, count: int, length: int) -> Batch:
        """Windows at random places of the training documents, every place equally likely, `[count, length]`."""
        places = (self._sizes - length).clamp(min=0)
        end = places.cumsum(0)
        drawn = torch.randint(int(end[-1]), (count,), generator=generator("batch", seed, step))
        document = torch.searchsorted(end, drawn, right=True)
        first = (self._sizes.cumsum(0) - self._sizes)[document] + drawn - (end - places)[document]
        return self._windows(first, length)

    def stream(self, seed: int, step: int, count: int, length: int) -> Batch:
        """Consecutive windows of the training text, documents one after another, each row from its own random place."""
        room = len(self._train) - length
        begun = torch.randint(room, (count,), generator=generator("stream", seed))
        return self._windows((begun + step * length) % room, length)

    def _windows(self, first: Tensor, length: int) -> Batch:
        window = self._train[first[:, None] + torch.arange(length + 1)].to(torch.int64)
        return Batch(window[:, :-1], window[:, 1:])

    def documents(self, part: str) -> list[Tensor]:
        return [_tensor(document) for document in self.corpus.parts()[part]]

    def describe(self) -> dict:
        """That of the corpus, and `unigram_loss`: what byte frequencies alone give on each part, in nats per byte.

        The frequencies are those of the training part. A model that does no better has learned nothing.
        """
        parts = self.corpus.parts().items()
        losses = {part: unigram(self.corpus.train, documents) for part, documents in parts}
        rounded = {part: None if loss is None else round(loss, 4) for part, loss in losses.items()}
        return self.corpus.describe() | {"unigram_loss": rounded}


def _tensor(document: bytes) -> Tensor:
    return torch.frombuffer(bytearray(document), dtype=torch.uint8)
