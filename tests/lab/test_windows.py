"""Which windows are scored: every target once where it must be once, the same targets where they must be the same."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from gnomon.lab.windows import ending, ends, stretches, windows

sizes = st.lists(st.integers(1, 400), min_size=1, max_size=6).filter(lambda sizes: max(sizes) > 40)


def numbered(sizes: list[int]) -> list[torch.Tensor]:
    """Documents whose tokens are all different, so that a window says where it comes from."""
    first = np.cumsum([0, *sizes])
    return [torch.arange(int(a), int(b)) for a, b in zip(first, first[1:])]


@given(sizes, st.integers(1, 1000), st.integers(1, 40))
def test_stretches_are_parts_of_documents_with_room_for_the_longest_window(sizes, total, longest):
    documents = numbered(sizes)
    found = stretches(documents, total, longest)
    assert found
    seen = torch.cat(found).tolist()
    assert len(seen) == len(set(seen))
    for stretch in found:
        assert len(stretch) > longest
        assert stretch.equal(torch.arange(stretch[0], stretch[0] + len(stretch)))
        assert sum(int(stretch[0]) in document and int(stretch[-1]) in document for document in documents) == 1
    assert sum(len(stretch) - 1 for stretch in found) <= max(total, longest)


def test_stretches_use_what_is_asked_for_where_there_is_enough():
    found = stretches(numbered([500, 900, 20, 700]), 600, 50)
    assert sum(len(stretch) - 1 for stretch in found) == 600
    assert [len(stretch) - 1 for stretch in found] == [200, 200, 200]


@given(sizes, st.integers(1, 40))
def test_the_sliding_window_scores_every_target_once(sizes, length):
    documents = [document for document in numbered(sizes) if len(document) > length]
    found = windows(documents, length)
    targets = found.tokens[:, 1:]
    scored = [row[length - count :].tolist() for row, count in zip(targets, found.sliding)]
    assert sorted(t for row in scored for t in row) == [t for document in documents for t in document[1:].tolist()]
    assert found.stride == -(-length // 2)
    full = [count for count in found.sliding if count]
    assert all(length - count >= 0 for count in full)


@given(sizes, st.integers(1, 40))
def test_windows_that_lie_apart_share_no_target_and_leave_less_than_one_window(sizes, length):
    documents = [document for document in numbered(sizes) if len(document) > length]
    found = windows(documents, length)
    targets = found.tokens[found.apart][:, 1:].flatten().tolist()
    assert len(targets) == len(set(targets))
    assert found.apart.sum() == sum((len(document) - 1) // length for document in documents)
    assert all(row.equal(torch.arange(row[0], row[0] + length + 1)) for row in found.tokens)


@given(sizes, st.integers(1, 30))
def test_paired_windows_of_every_length_end_at_the_same_targets(sizes, count):
    documents = numbered(sizes)
    places = ends(documents, count, 40)
    assert len(places) == min(count, sum((len(document) - 1) // 40 for document in documents))
    assert len(set(places)) == len(places)
    windows = {length: ending(documents, places, length) for length in (4, 17, 40)}
    for length, found in windows.items():
        assert found.shape == (len(places), length + 1)
        assert found[:, -4:].equal(windows[40][:, -4:])
    assert len(set(windows[40][:, 1:].flatten().tolist())) == 40 * len(places)
