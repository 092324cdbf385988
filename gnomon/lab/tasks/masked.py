"""Masked: the bytes of a text that are hidden, from those on both sides of them.

    To b_,_or not to b_ -> e, a space, e

A masked language model (Devlin et al. 2019, "BERT", with its published numbers): of every window so many bytes are
chosen, at random places, and are all that is scored. Of those most are replaced by a mask, a token beyond the bytes;
some by a byte drawn at random, some stay, so that a model cannot tell which of the bytes it reads are right. With
`whole_words` the bytes of a word are chosen together, as in BERT's later version, until there are as many (of the last
word perhaps not all): a word cannot be completed from its own letters.

`length` counts bytes; all windows of training have the same. Their places are equally likely, and none crosses from
one document into the next. What is measured are windows of documents that were not trained on. Few of them are right
in every byte: what tells models apart is the share of bytes that are right, and the loss.
"""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from gnomon.errors import DataError, OptionError
from gnomon.lab import corpus
from gnomon.lab.experiment import Text
from gnomon.lab.seeds import generator
from gnomon.lab.task import IGNORED, Batch, Chance, Task
from gnomon.lab.tasks.text import TextTask

MASK = 256

CHOSEN, HIDDEN, DRAWN = 0.15, 0.8, 0.1
"""The share of a window that is scored; of that, what is replaced by the mask, and by a byte drawn at random."""


class Masked(Task):
    """Masked bytes of the text at `path`, a file or folder; without one, of the packaged plays.

    fraction: the share of each training document that is used, from its start.
    """

    vocabulary = MASK + 1
    causal = False

    def __init__(self, path: str | None = None, whole_words: bool = False, fraction: float = 1.0):
        if not 0 < fraction <= 1:
            raise OptionError("the fraction of a text", given=fraction, allowed="above 0, at most 1")
        text = corpus.load(Text(path))
        used = tuple(document[: round(fraction * len(document))] for document in text.train)
        self.corpus, self.whole_words = replace(text, train=used), whole_words
        self._documents = {part: _Documents(documents) for part, documents in self.corpus.parts().items()}

    def batch(self, seed: int, step: int, count: int, length: int) -> Batch:
        return self._windows("train", length, count, generator("batch", seed, step))

    def examples(self, part: str, length: int, count: int) -> Batch:
        return self._windows(part, length, count, generator("examples", part, length))

    def chance(self, length: int) -> Chance:
        """Guessing the commonest byte of the training part everywhere; for whole windows as if bytes were drawn."""
        counts = self._documents["train"].counts()
        share = float(counts.max() / counts.sum())
        return Chance(share ** _chosen(length), share)

    def learned(self, length: int) -> None:
        """Judged by its loss."""
        return None

    def describe(self) -> dict:
        """That of the text; `unigram_loss` is what byte frequencies alone give on each part, in nats per byte."""
        form = f"{CHOSEN:.0%} of the bytes scored: {HIDDEN:.0%} masked, {DRAWN:.0%} drawn at random, the others as read"
        return TextTask(self.corpus).describe() | {"form": form, "whole_words": self.whole_words}

    def _windows(self, part: str, length: int, count: int, drawn: torch.Generator) -> Batch:
        x = self._documents[part].windows(length, count, drawn)
        if x is None:
            raise DataError(
                f"no document of the {part} part has room for a window: {self.corpus.name}",
                given=f"length {length}",
                allowed=f"at most {self._documents[part].longest}",
                do="choose shorter lengths, or give more text",
            )
        which = _together(x) if self.whole_words else torch.arange(length).expand_as(x)
        order = torch.rand(x.shape, generator=drawn).gather(1, which).argsort(dim=1, stable=True)
        chosen = torch.zeros_like(x, dtype=torch.bool).scatter(1, order[:, : _chosen(length)], True)
        what, other = torch.rand(x.shape, generator=drawn), torch.randint(MASK, x.shape, generator=drawn)
        replaced = torch.where(what < HIDDEN, MASK, torch.where(what < HIDDEN + DRAWN, other, x))
        return Batch(torch.where(chosen, replaced, x), torch.where(chosen, x, IGNORED))


class _Documents:
    """The documents of a part, one after another."""

    def __init__(self, documents: tuple[bytes, ...]):
        self.bytes = torch.frombuffer(bytearray(b"".join(documents) or b"\0"), dtype=torch.uint8)
        self.sizes = torch.tensor([len(document) for document in documents], dtype=torch.int64)
        self.longest = max(map(len, documents), default=0)

    def windows(self, length: int, count: int, drawn: torch.Generator) -> Tensor | None:
        """Windows at places that are equally likely, `[count, length]` int64; None where there is room for none."""
        if length > self.longest:
            return None
        places = (self.sizes - length + 1).clamp(min=0)
        end = places.cumsum(0)
        place = torch.randint(int(end[-1]), (count,), generator=drawn)
        document = torch.searchsorted(end, place, right=True)
        first = (self.sizes.cumsum(0) - self.sizes)[document] + place - (end - places)[document]
        return self.bytes[first[:, None] + torch.arange(length)].to(torch.int64)

    def counts(self) -> np.ndarray:
        """How often each byte occurs, `[256]`."""
        return np.bincount(self.bytes.numpy(), minlength=MASK)


def _chosen(length: int) -> int:
    return max(1, round(CHOSEN * length))


def _together(x: Tensor) -> Tensor:
    """Which word of its row each byte belongs to, `[b, n]`; what is no letter or digit is by itself.

    Letters beyond ASCII are bytes from 128 on, and so part of words.
    """
    letter = (x >= 128) | _LETTER[x.clamp(max=127)]
    starts = ~(letter & letter.roll(1, dims=1))
    starts[:, 0] = True
    return starts.cumsum(1) - 1


_LETTER = torch.tensor([chr(byte).isalnum() for byte in range(128)])
