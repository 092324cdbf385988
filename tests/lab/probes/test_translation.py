"""What shifts and one wrong position change: nothing, everything, or what the mask lets see."""

import pytest
import torch

from gnomon.encoding import Shape
from gnomon.encodings import create
from gnomon.errors import OptionError, PositionError
from gnomon.lab.probes.perturbed import perturbed
from gnomon.lab.probes.reading import Reader
from gnomon.lab.probes.translation import translation
from gnomon.lab.task import Batch
from gnomon.lab.vectors import VectorTransformer
from gnomon.masks import BIDIRECTIONAL
from gnomon.positions import grid
from tests.lab.probes.models import blind, reader, tokens


@pytest.mark.parametrize("encoding", ["none", "rope", "alibi", "t5", "shaw"])
def test_a_shift_changes_nothing_under_relative_positions(encoding):
    found = translation(reader(encoding), tokens(3, 12), (1, 5, 1000))
    assert [shift.by for shift in found.shifts] == [1, 5, 1000] and not found.refused
    for shift in found.shifts:
        assert shift.inputs.mean == 0
        assert max(mean.mean for mean in (*shift.attention, shift.output)) < 1e-11
        assert abs(shift.loss.mean) < 1e-11


def test_a_shift_changes_all_under_sinusoidal_positions():
    found = translation(reader("sinusoidal"), tokens(3, 12), (5, 1000))
    for shift in found.shifts:
        assert min(shift.inputs.mean, shift.output.mean, *(mean.mean for mean in shift.attention)) > 0.01
        assert shift.output.se > 0 and shift.output.count == 3
    assert found.tables()[0].rows[0][0] == 5 and len(found.figures()[0].lines) == 4


def test_what_enters_changes_as_the_formula_says():
    """Without tokens' embeddings, what enters is sin and cos alone: it moves by the chord of each angle."""
    made = reader("sinusoidal")
    with torch.no_grad():
        made.model.embedding.weight.zero_()
    [shift] = translation(made, tokens(2, 12), (5,)).shifts
    angle = 5 * 10000 ** (-torch.arange(8, dtype=torch.float64) / 8)
    assert shift.inputs.mean == pytest.approx(float((2 - 2 * angle.cos()).mean().sqrt()), abs=1e-12)


def test_a_shift_out_of_the_table_is_told_apart():
    found = translation(reader("learned", max_positions=20), tokens(2, 12), (3, 100))
    assert [shift.by for shift in found.shifts] == [3] and found.refused == (100.0,)


@pytest.mark.parametrize("encoding", ["sinusoidal", "rope", "alibi", "t5"])
def test_a_causal_model_is_wrong_from_the_wrong_token_on(encoding):
    found = perturbed(reader(encoding), tokens(3, 16), at=6, to=500)
    assert (found.earlier.changed.mean, found.earlier.size.mean, found.earlier.loss.mean) == (0, 0, 0)
    assert (found.earlier.tokens, found.itself.tokens, found.later.tokens) == (6, 1, 9)
    assert (found.itself.changed.mean, found.later.changed.mean) == (1, 1)
    assert [mean.mean > 0 for mean in found.by_token] == [at >= 6 for at in range(16)]


@pytest.mark.parametrize("encoding", ["sinusoidal", "rope", "alibi"])
def test_a_model_that_sees_all_is_wrong_everywhere(encoding):
    found = perturbed(reader(encoding, causal=False), tokens(3, 16), at=6, to=500)
    assert found.earlier.changed.mean == found.itself.changed.mean == found.later.changed.mean == 1
    assert found.earlier.size.mean > 1e-6


def test_vectors_on_a_grid_are_read_as_tokens_are():
    torch.manual_seed(1)
    made = create("sinusoidal", Shape(16, 4, depth=2, causal=False), axes=2)
    model = Reader(VectorTransformer(3, 5, 16, 2, 4, made, mask=BIDIRECTIONAL).double())
    batch = Batch(torch.randn(3, 12, 3, dtype=torch.float64), torch.randint(5, (3, 12)), grid(3, 4))
    found = perturbed(model, batch, at=6, to=9)
    assert found.earlier.changed.mean == found.later.changed.mean == 1
    [shift] = translation(model, batch, (2,)).shifts
    assert shift.output.mean > 1e-3


def test_no_positions_no_wrong_one():
    found = perturbed(reader("none", causal=False), tokens(3, 16), at=6, to=500)
    assert found.earlier.changed.mean == found.itself.changed.mean == found.later.changed.mean == 0


def test_a_blind_model_passes_a_wrong_place_on_by_its_values_alone():
    """One layer, uniform attention: the later outputs change by what the wrong vector adds to a mean of i + 1."""
    found = perturbed(blind(reader("sinusoidal", depth=1)), tokens(8, 40), at=3, to=500)
    sizes = [mean.mean for mean in found.by_token]
    assert sizes[3] > 10 * max(sizes[4:]) and sizes[4] > 3 * sizes[39] > 0


def test_the_first_token_has_none_before_it_and_mistakes_are_told():
    assert perturbed(reader("rope"), tokens(2, 8), at=0, to=50).earlier is None
    with pytest.raises(OptionError, match="no such token"):
        perturbed(reader("rope"), tokens(2, 8), at=8, to=50)
    with pytest.raises(PositionError):
        perturbed(reader("learned", max_positions=20), tokens(2, 8), at=2, to=20)
