"""Learned tables against GPT-2, OPT, DETR and ViT of transformers 5.24.0, and x-transformers 2.31.10."""

import pytest
import torch

from gnomon.encodings.learned import Learned
from gnomon.errors import PositionError
from gnomon.positions import Positions, grid, padded, sequence
from tests.oracles.others import close, copy, normal, require, theirs, weigh

gpt2, opt, detr, vit = theirs("gpt2"), theirs("opt"), theirs("detr"), theirs("vit")
require("x-transformers")

from x_transformers.x_transformers import AbsolutePositionalEmbedding  # noqa: E402

WIDTH, ROWS, TOKENS, TABLE = 12, 3, 7, 20


def added(encoding: Learned, pos: Positions) -> torch.Tensor:
    x = normal(ROWS, pos.length, WIDTH)
    return encoding.embed(x, pos) - x


def test_gpt2_wpe():
    """GPT2Model.wpe at positions other in each row, one of them the last of the table."""
    config = gpt2.GPT2Config(n_embd=WIDTH, n_head=2, n_layer=1, n_positions=TABLE, vocab_size=5)
    their = weigh(gpt2.GPT2Model(config)).wpe
    our = Learned(WIDTH, TABLE).double()
    copy({our.weight: their.weight})
    places = torch.tensor([[0, 1, 2, 3, 4, 5, 6], [3, 3, 9, 19, 0, 1, 2], [13, 14, 15, 16, 17, 18, 19]])
    close(added(our, Positions(places[..., None].double())), their(places), 1e-14)


def test_opt_counts_from_two():
    """OPTLearnedPositionalEmbedding: the first token of a left-padded row has row 2 of the table."""
    their = weigh(opt.OPTLearnedPositionalEmbedding(TABLE, WIDTH))
    our = Learned(WIDTH, TABLE + 2).double()
    copy({our.weight: their.weight})
    real = torch.arange(TOKENS) >= torch.tensor([[0], [2], [6]])
    expected = their(real.long())
    close(added(our, padded(real).shifted(2.0))[real], expected[real], 1e-14)


@pytest.mark.parametrize("cached", [1, 5])
def test_opt_goes_on_after_a_cache(cached):
    """Each row of a left-padded batch goes on from its own number of real tokens, not from the cache's length."""
    their = weigh(opt.OPTLearnedPositionalEmbedding(TABLE, WIDTH))
    our = Learned(WIDTH, TABLE + 2).double()
    copy({our.weight: their.weight})
    real = torch.arange(TOKENS) >= torch.tensor([[0], [1], [4]])
    expected = their(real.long(), cache_length=cached)
    found = added(our, padded(real).shifted(2.0).tokens(cached, TOKENS))
    here = real[:, cached:]
    close(found[here], expected[here], 1e-14)


@pytest.mark.parametrize("offset", [0, 13])
def test_x_transformers(offset):
    """AbsolutePositionalEmbedding multiplies its table by dim^-1/2, which is its scale."""
    their = weigh(AbsolutePositionalEmbedding(WIDTH, TABLE))
    our = Learned(WIDTH, TABLE, scale=WIDTH**-0.5).double()
    copy({our.weight: their.emb.weight})
    expected = their(torch.zeros(ROWS, TOKENS, WIDTH), offset=offset)
    close(added(our, sequence(TOKENS, offset)), expected.expand(ROWS, -1, -1), 1e-14)


def test_where_x_transformers_forgets_the_offset_we_refuse():
    """Its length check ignores `offset`, and the lookup fails inside torch; ours says what is allowed."""
    with pytest.raises(IndexError):
        AbsolutePositionalEmbedding(WIDTH, 4)(torch.zeros(1, 1, WIDTH), offset=4)
    with pytest.raises(PositionError, match="0 to 3"):
        Learned(WIDTH, 4).embed(torch.zeros(1, 1, WIDTH), sequence(1, 4))


@pytest.mark.parametrize("rows, columns", [(3, 5), (7, 2), (1, 50), (50, 1)])
def test_detr_grid(rows, columns):
    """DetrLearnedPositionEmbedding lays the column's half before the row's: tables with zeros in the other's half."""
    their = weigh(detr.DetrLearnedPositionEmbedding(WIDTH // 2))
    expected = their((1, WIDTH, rows, columns), "cpu", torch.float64)[0].flatten(1).T
    our = Learned(WIDTH, 50, axes=2).double()
    zeros = torch.zeros(50, WIDTH // 2)
    row = torch.cat([zeros, their.row_embeddings.weight], dim=1)
    column = torch.cat([their.column_embeddings.weight, zeros], dim=1)
    copy({our.weight: torch.cat([row, column])})
    pos = grid(rows, columns)
    close(added(our, pos), expected.expand(ROWS, -1, -1), 1e-14)
    order = torch.randperm(rows * columns, generator=torch.Generator().manual_seed(0))
    close(added(our, Positions(pos.coords[:, order])), expected[order].expand(ROWS, -1, -1), 1e-14)


def test_vit_places_are_one_axis():
    """ViTEmbeddings adds a row for each place, read row by row, the class token's first."""
    config = vit.ViTConfig(hidden_size=WIDTH, num_attention_heads=2, image_size=12, patch_size=4)
    their = weigh(vit.ViTEmbeddings(config))
    image = normal(ROWS, 3, 12, 12)
    our = Learned(WIDTH, 10).double()
    copy({our.weight: their.position_embeddings[0]})
    x = torch.cat([their.cls_token.expand(ROWS, -1, -1), their.patch_embeddings(image)], dim=1)
    close(our.embed(x, sequence(10)), their(image), 1e-14)
