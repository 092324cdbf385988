"""What comes in at the doors of attention: plans of other tokens, gradients of positions, autocast, other models."""

import copy
import pickle

import pytest
import torch
from torch import nn

from gnomon import Cache, Transformer, attend, encodings, positions
from gnomon.attention import Attention, attend_by, plan
from gnomon.backends import sdpa, tabled
from gnomon.encoding import Shape
from gnomon.errors import PositionError
from gnomon.past import NoCache

SHAPE = Shape(16, 2, 8)


def made(name: str, **options):
    return encodings.create(name, SHAPE, **options)


@pytest.mark.parametrize("name", ["none", "rope", "alibi", "t5", "shaw"])
@pytest.mark.parametrize("backend", ["sdpa", "reference"])
def test_a_plan_is_of_its_tokens(name, backend):
    """Numbers of one position would be spread over all."""
    q, k, v = (torch.randn(1, 2, 3, 8) for _ in range(3))
    one = plan(made(name), positions.sequence(1), heads=2, dtype=q.dtype, backend=backend)
    with pytest.raises(PositionError, match="3 queries"):
        attend_by(one, q, k, v)
    with pytest.raises(PositionError, match="3 keys"):
        attend_by(one, q[:, :, :1], k, v)


@pytest.mark.parametrize("name", ["alibi", "kerple", "sandwich"])
def test_positions_may_have_a_gradient(name, monkeypatch):
    """Also whole ones, of which there could be a table."""
    monkeypatch.setattr(sdpa, "SHARED", 0)
    q, k, v = (torch.randn(1, 2, 300, 8, dtype=torch.float64) for _ in range(3))
    encoding, found = made(name).double(), []
    for worth in (tabled.WORTH, 1e9):
        monkeypatch.setattr(tabled, "WORTH", worth)
        at = torch.arange(300).double().requires_grad_()
        attend(q, k, v, encoding, positions.timed(at)).square().sum().backward()
        found.append(at.grad)
    assert found[0].abs().sum() > 0 and (found[0] - found[1]).abs().max() < 1e-12


@pytest.mark.parametrize("name", ["none", "rope", "alibi", "t5", "shaw", "deberta"])
def test_autocast_gives_one_precision(name):
    """However long the text is, and with a gradient or without."""
    for n in (8, 600):
        q, k, v = (torch.randn(1, 2, n, 8, requires_grad=True) for _ in range(3))
        with torch.autocast("cpu", torch.bfloat16):
            kinds = {attend(q, k, v, made(name)).dtype}
            with torch.no_grad():
                kinds.add(attend(q, k, v, made(name)).dtype)
        assert kinds == {torch.bfloat16}


def test_nothing_before_is_of_no_model():
    nothing = NoCache()
    for _ in range(2):
        Transformer(vocabulary=5, width=16, depth=1, heads=2, encoding=made("rope"))(torch.tensor([[1]]), cache=nothing)


@pytest.mark.parametrize("way", [copy.deepcopy, lambda cache: pickle.loads(pickle.dumps(cache))])
def test_a_cache_is_copied_in_inference_mode_and_goes_on_anywhere(way):
    """Two texts with one beginning."""
    model = Transformer(vocabulary=9, width=16, depth=2, heads=2, encoding=made("rope")).eval()
    cache, first, then = Cache(capacity=6), torch.tensor([[1, 2, 3]]), torch.tensor([[4]])
    with torch.inference_mode():
        model(first, cache=cache)
        one, other = way(cache), way(cache)
        expected = model(then, cache=cache)
        assert torch.equal(model(then, cache=one), expected)
    with torch.no_grad():
        assert torch.equal(model(then, cache=other), expected)


@pytest.mark.parametrize("copied", [lambda module: module, copy.deepcopy])
def test_projections_that_are_replaced_project_positions_too(copied):
    """As an adapter does; those of another layer are refused as before."""
    options = dict(span=6, norm=True, shared=True)
    attention = Attention(16, 2, made("deberta", **options))
    attention.q = nn.Linear(16, 16, bias=False)
    attention, x = copied(attention), torch.randn(1, 5, 16)
    fresh = Attention(16, 2, made("deberta", **options))
    fresh.load_state_dict(attention.state_dict())
    with torch.no_grad():
        assert (attention(x) - fresh(x)).abs().max() < 1e-6
        attention.k = nn.Linear(16, 16, bias=False)
        fresh.load_state_dict(attention.state_dict())
        assert (attention(x) - fresh(x)).abs().max() < 1e-6


def test_kerples_power_has_derivatives_of_derivatives():
    """Each query is at no distance from itself."""
    found = []
    for backend in ("sdpa", "reference"):
        torch.manual_seed(0)
        kerple = made("kerple", kernel="power").double()
        q, k, v = (torch.randn(1, 2, 5, 8, dtype=torch.float64) for _ in range(3))
        (first,) = torch.autograd.grad(
            attend(q, k, v, kerple, backend=backend).square().sum(), kerple.raw_p, create_graph=True
        )
        found.append(torch.autograd.grad(first.square().sum(), kerple.raw_p)[0])
    assert (found[0] - found[1]).abs().max() < 1e-9
