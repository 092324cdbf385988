"""Whether a model says the right thing: each token, and each example as a whole."""

from dataclasses import dataclass

import numpy as np

from gnomon.lab import measures
from gnomon.lab.measures import Mean
from gnomon.lab.probes.reading import Reader, losses, of_examples
from gnomon.lab.task import IGNORED, Batch


@dataclass(frozen=True)
class Said:
    """Of the tokens that are scored, `[b, n]` float64, nan elsewhere."""

    loss: np.ndarray
    """Nats."""
    right: np.ndarray
    """1 where the largest logit is that of the answer."""

    def exact(self) -> Mean:
        """The share of examples of which every token is right; its error by Wilson."""
        right = int(np.nanmin(self.right, axis=1).sum())
        return Mean(right / len(self.right), measures.wilson(right, len(self.right)), len(self.right))

    def accuracy(self) -> Mean:
        """The share of tokens that are right, over examples."""
        return measures.mean(of_examples(self.right))

    def mean_loss(self) -> Mean:
        """Nats a token, over examples."""
        return measures.mean(of_examples(self.loss))


def said(reader: Reader, batch: Batch) -> Said:
    """What the model says to a batch, the right answer so far being read."""
    loss, right = [], []
    for part in reader.parts(batch):
        logits = reader.logits(part)
        loss.append(losses(logits, part))
        scored = (part.targets != IGNORED).numpy()
        right.append(np.where(scored, (logits.argmax(-1) == part.targets).numpy(), np.nan))
    return Said(np.concatenate(loss), np.concatenate(right))
