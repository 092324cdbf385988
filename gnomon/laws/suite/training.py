"""The law of training's own randomness: positions drawn, and an encoding's loss, are functions of their generator."""

import torch

from gnomon.encoding import Encoding
from gnomon.errors import PositionError
from gnomon.laws.case import Case, gap
from gnomon.laws.law import Outcome
from gnomon.positions import Positions


def training(case: Case) -> Outcome:
    """Positions drawn for training lie in the domain; like an encoding's own loss, they are the generator's alone."""
    kind, errors = type(case.make()), []
    if kind.draw is Encoding.draw and kind.auxiliary is Encoding.auxiliary:
        return Outcome(0.0, reason="it draws nothing in training")
    for salt in range(30, 50):
        # Whatever torch's own generator has been used for meanwhile.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(salt)
            (pos, loss), encoding = _step(case, salt), case.make()
            torch.manual_seed(salt + 1)
            again, loss_again = _step(case, salt)
        try:
            encoding.check_positions(pos)
        except PositionError:
            return Outcome(float("inf"))
        finite = bool(torch.isfinite(loss))
        errors += [gap(again.coords, pos.coords), gap(loss_again, loss), 0.0 if finite else float("inf")]
    return Outcome(max(errors), tolerance=0.0)


def _step(case: Case, salt: int) -> tuple[Positions, torch.Tensor]:
    encoding: Encoding = case.make()
    generator = case.generator(salt)
    pos = encoding.draw(case.even(), generator)
    return pos, torch.as_tensor(encoding.auxiliary(pos, generator)).detach()
