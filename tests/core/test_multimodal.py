"""Text and images in one sequence on three axes, as M-RoPE counts them."""

import pytest
import torch

from gnomon.errors import PositionError
from gnomon.kv_cache import Cache
from gnomon.positions import multimodal
from tests.core.common import gap, make, model, tokens


def places(*pieces, **options) -> list[list[int]]:
    return multimodal(pieces, **options).coords[0].to(torch.int64).tolist()


def test_a_text_counts_up_on_all_axes():
    assert places(3) == [[0, 0, 0], [1, 1, 1], [2, 2, 2]]
    assert places(2, 1) == places(3)
    assert places(2, start=5) == [[5, 5, 5], [6, 6, 6]]


def test_a_picture_is_read_row_by_row_from_where_it_begins():
    """2 rows and 3 columns: (time, row, column), and text goes on behind the largest of them."""
    assert places(2, (1, 2, 3), 1) == [
        [0, 0, 0], [1, 1, 1],
        [2, 2, 2], [2, 2, 3], [2, 2, 4], [2, 3, 2], [2, 3, 3], [2, 3, 4],
        [5, 5, 5],
    ]  # fmt: skip


def test_text_after_a_long_video_follows_its_last_frame():
    """10 frames of 2 x 2 from 3 on end at time 12: text goes on at 13, not behind the rows at 5."""
    found = places(3, (10, 2, 2), 1)
    assert [place[0] for place in found[3:-1:4]] == list(range(3, 13))
    assert found[-1] == [13, 13, 13]
    assert places(3, (10, 2, 2), 1, interval=2.0)[-1] == [22, 22, 22]


def test_frames_less_than_one_apart_are_rounded_down_after_they_are_counted():
    assert [place[0] for place in places((4, 1, 1), interval=0.5)] == [0, 0, 1, 1]
    assert [place[0] for place in places((4, 1, 1), interval=1.0)] == [0, 1, 2, 3]
    # The frame of a still picture is where it begins, whatever the interval.
    assert places(1, (1, 1, 2), interval=25.0) == [[0, 0, 0], [1, 1, 1], [1, 1, 2]]


@pytest.mark.parametrize("piece", [0, -1, (2, 3), (1, 0, 2), (1, 2, 3, 4), ()], ids=str)
def test_what_is_no_piece(piece):
    with pytest.raises(PositionError):
        multimodal([2, piece])


def test_decoding_goes_on_behind_the_largest_coordinate():
    """Fewer positions than tokens are used up, so the next one is not the number of tokens."""
    net, token = model(make("rope", axes=3, sections=(2, 1, 1))), tokens(2, 11)
    whole = multimodal([2, (1, 2, 3), 3])
    expected, cache, pos = net(token, whole), Cache(11), multimodal([2, (1, 2, 3)])
    parts = [net(token[:, :8], pos, cache=cache)]
    for i in range(8, 11):
        pos = multimodal([1], start=1 + int(pos.coords.max()))
        parts.append(net(token[:, i : i + 1], pos, cache=cache))
    assert gap(torch.cat(parts, dim=1), expected) < 1e-12
    assert pos.coords.max() == 7
