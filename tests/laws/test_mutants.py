"""Every law can fail: a mutant breaks the laws that it names, and no other."""

import pytest

from gnomon.laws import LAWS
from gnomon.laws.mutants import MUTANTS, matrix


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant(mutant):
    wrong = [cell for cell in matrix([mutant.name]) if cell.verdict == "WRONG"]
    assert not wrong


def test_every_law_kills_a_mutant():
    assert set().union(*(mutant.kills for mutant in MUTANTS)) == set(LAWS)
