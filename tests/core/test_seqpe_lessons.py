"""SeqPE's losses: the nearest candidate, and what is distilled from one window into another."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gnomon import positions
from gnomon.encodings.digit_lessons import (
    Draws,
    contrastive,
    distillation,
    edit,
    nearest,
    pivots_and_candidates,
    windows,
)
from gnomon.encodings.seqpe import SeqPE
from tests.core.common import HEAD_DIM, HEADS, WIDTH, gap, normal, weigh
from tests.core.seqpe import FORMS, generator, seqpe

# Training: the nearest candidate.


def test_contrastive_by_hand():
    pivot, candidate = torch.tensor([[5.0], [50.0]]), torch.tensor([[[9.0], [4.0], [7.0]], [[1.0], [60.0], [41.0]]])
    e_pivot, e_candidate = normal(2, 8), normal(2, 3, 8, seed=1)
    expected = 0.0
    for row, label in ((0, 1), (1, 2)):
        logits = [float(e_pivot[row] @ e_candidate[row, n]) for n in range(3)]
        expected += (math.log(sum(math.exp(x) for x in logits)) - logits[label]) / 2
    assert abs(contrastive(e_pivot, e_candidate, pivot.double(), candidate.double()).item() - expected) < 1e-14


def test_the_nearest_is_the_first_of_equals():
    pivot = torch.tensor([[5.0], [5.0], [10.0]]).double()
    candidate = torch.tensor([[[3.0], [7.0], [9.0]], [[7.0], [3.0], [9.0]], [[10.0], [12.0], [12.0]]]).double()
    label, allowed = nearest(pivot, candidate)
    assert label.tolist() == [0, 0, 1]
    assert allowed.tolist() == [[0, 0, 0], [0, 0, 0], [-math.inf, 0, -math.inf]]


def test_distance_on_a_grid_is_euclidean():
    pivot = torch.tensor([[0.0, 0.0]]).double()
    candidate = torch.tensor([[[3.0, 3.0], [0.0, 4.5], [4.0, 2.0]]]).double()
    assert nearest(pivot, candidate)[0].item() == 0
    candidate = torch.tensor([[[3.0, 3.0], [0.0, 4.0], [4.0, 2.0]]]).double()
    assert nearest(pivot, candidate)[0].item() == 1


def test_a_pivot_that_only_meets_itself():
    label, allowed = nearest(torch.tensor([[5.0]]).double(), torch.full((1, 3, 1), 5.0).double())
    assert label.item() == 0 and torch.isfinite(allowed).all()


def test_large_products_are_compared_in_32_bits():
    """Norms of 16 make products of 256, where bfloat16 steps by two."""
    e_pivot, e_candidate = normal(4, 8, seed=2) * 6, normal(4, 5, 8, seed=3) * 6
    pivot, candidate = torch.arange(4.0).double()[:, None], 10 + torch.arange(20.0).double().view(4, 5, 1)
    low = [t.to(torch.bfloat16) for t in (e_pivot, e_candidate)]
    exact = contrastive(*(t.double() for t in low), pivot, candidate)
    with torch.autocast("cpu", torch.bfloat16):
        found = contrastive(*low, pivot, candidate)
    assert found.dtype == torch.float32 and abs(found.double() - exact) < 1e-4 * exact.abs()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), axes=st.integers(1, 3), longest=st.sampled_from([2, 10, 97, 1000]))
def test_candidates_lie_where_positions_may(seed, axes, longest):
    span = 256 if axes == 1 else 14
    pivot, candidate = pivots_and_candidates(5, 12, longest, axes, span, Draws(generator(seed)))
    assert pivot.shape == (5, axes) and candidate.shape == (5, 12, axes)
    for places in (pivot, candidate):
        assert places.dtype == torch.float64 and torch.equal(places, places.floor())
        assert places.min() >= 0 and places.max() < longest


def test_candidates_of_a_window_and_of_everywhere():
    """Three in five pivots see one window of 256 places, wherever it is; the others see far and wide."""
    draws, spans, off = Draws(generator()), [], []
    for _ in range(60):
        pivot, candidate = pivots_and_candidates(5, 32, 20000, 1, 256, draws)
        spans += (candidate.amax(1) - candidate.amin(1)).flatten().tolist()
        off += (candidate.mean(1) - pivot).abs().flatten().tolist()
    near = [s for s in spans if s < 256]
    assert 0.5 < len(near) / len(spans) < 0.7 and min(s for s in spans if s >= 256) > 2000
    assert sum(off) / len(off) > 2000


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), place=st.lists(st.integers(0, 99999), min_size=1, max_size=3))
def test_edits_are_few(seed, place):
    """At most three insertions, deletions, swaps or replacements: as many digits within three, mostly the same."""
    before = sorted("".join(str(x) for x in place))
    edited = edit(place, Draws(generator(seed)))
    assert len(edited) == len(place) and min(edited) >= 0
    after = sorted("".join(str(x) for x in edited).replace("0", ""))
    missing = [d for d in set(before) - {"0"} if before.count(d) - after.count(d) > 3]
    assert not missing and len(after) <= len(before) + 3


# Training: what is distilled.


def test_distillation_by_hand():
    teacher, student = normal(2, 4, 3), normal(2, 4, 3, seed=1)
    total = 0.0
    for h in range(2):
        rows = [[[float(e[h, i] @ e[h, j]) for j in range(4)] for i in range(4)] for e in (teacher, student)]
        for known, found in zip(*rows, strict=True):
            p, q = ([math.exp(x) / sum(math.exp(y) for y in row) for x in row] for row in (known, found))
            total += sum(a * math.log(a / b) + b * math.log(b / a) for a, b in zip(p, q, strict=True))
    assert abs(distillation(teacher, student).item() - total / (2 * 4 * 4)) < 1e-14
    assert distillation(teacher, teacher).item() == 0


def teaches(loss) -> bool:
    teacher, student = normal(2, 4, 3).requires_grad_(), normal(2, 4, 3, seed=1).requires_grad_()
    grads = torch.autograd.grad(loss(teacher, student), (teacher, student), allow_unused=True)
    assert grads[1].abs().max() > 1e-3
    return grads[0] is None or not grads[0].any()


def test_the_teacher_learns_nothing():
    """And the test can fail: a loss without its detach is caught."""

    def undetached(teacher, student):
        known, found = (torch.log_softmax(e @ e.mT, dim=-1) for e in (teacher, student))
        return (known.exp() * (known - found) + found.exp() * (found - known)).mean()

    teacher, student = normal(2, 4, 3), normal(2, 4, 3, seed=1)
    assert gap(undetached(teacher, student), distillation(teacher, student)) < 1e-15
    assert teaches(distillation) and not teaches(undetached)


def test_the_student_window_is_away_from_the_teachers():
    pos = positions.sequence(40)
    for seed in range(40):
        teacher, student = windows(pos, 4, 20000, 10**5, Draws(generator(seed)))
        away = (student - teacher).unique()
        assert len(away) == 1 and 10 <= away.item() < 20000 - 40 + 1
        assert len(teacher.unique()) == 4 and teacher.max() < 40
    pos = positions.grid(6, 9)
    for seed in range(40):
        teacher, student = windows(pos, 4, 100, 100, Draws(generator(seed)))
        away = (student - teacher)[0]
        assert away[0] >= 6 or away[1] >= 9
        assert student.max() <= 99


def test_no_room_for_another_window():
    """A window as long as all that can be read: nothing leaves the domain."""
    encoding, pos = seqpe(digits=2, sampled=100), positions.sequence(100)
    _, student = windows(pos, 100, 100, 100, Draws(generator()))
    assert student.max() <= 99 and torch.isfinite(encoding.auxiliary(pos, generator()))


def test_nothing_is_distilled_from_a_shifted_window():
    encoding, pos = seqpe(contrastive=0.0), positions.sequence(20)
    assert encoding.auxiliary(pos, generator()) > 0
    assert encoding.auxiliary(pos.shifted(1), generator()) == 0
    # A batch of one window that is shifted is no less shifted, and padding at the origin does not hide it.
    real = torch.arange(20) >= torch.tensor([[0], [5]])
    padded = positions.padded(real)
    assert encoding.auxiliary(padded, generator()) > 0
    assert encoding.auxiliary(padded.shifted(300), generator()) == 0


def test_both_losses_are_weighed():
    pos, alone = positions.sequence(20), {}
    for name in ("contrastive", "distillation"):
        options = dict(contrastive=0.0, distillation=0.0) | {name: 0.1}
        alone[name] = seqpe(**options).auxiliary(pos, generator(1))
    both = seqpe(contrastive=0.3, distillation=0.2).auxiliary(pos, generator(1))
    assert abs(both - 3 * alone["contrastive"] - 2 * alone["distillation"]) < 1e-12
    assert seqpe(contrastive=0.0, distillation=0.0).auxiliary(pos, generator()) == 0.0


@pytest.mark.parametrize("form", FORMS)
def test_the_losses_train_the_reader(form):
    encoding = seqpe(form=form)
    encoding.auxiliary(positions.sequence(20), generator()).backward()
    assert all(torch.isfinite(p.grad).all() and p.grad.any() for p in encoding.reader.parameters())


def test_losses_of_16_bits_are_32_bits_wide():
    encoding = weigh(SeqPE(WIDTH, HEADS, HEAD_DIM)).to(torch.bfloat16)
    pos = positions.sequence(20)
    with torch.autocast("cpu", torch.bfloat16):
        found = encoding.auxiliary(pos, generator(2))
    assert found.dtype == torch.float32
    assert abs(found.double() - encoding.double().auxiliary(pos, generator(2))) < 1e-4


def test_teaching_the_nearest_works():
    """A hundred steps: of some candidates the nearest is found more often than at first."""
    torch.manual_seed(0)
    encoding = SeqPE(32, 4, 8, digits=3, encoder_width=32, distillation=0.0, contrastive=1.0)
    optimizer, pos, losses = torch.optim.Adam(encoding.parameters(), lr=3e-3), positions.sequence(20), []
    for step in range(100):
        loss = encoding.auxiliary(pos, generator(step))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert sum(losses[-20:]) < 0.8 * sum(losses[:20])
