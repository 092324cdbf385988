"""Sinusoidal tables against transformers 5.24.0 (Marian, M2M100, Whisper, GPT-J, DETR) and x-transformers 2.31.10."""

import pytest
import torch

from gnomon.encodings.sinusoidal import Sinusoidal
from gnomon.positions import Positions, grid, sequence
from tests.oracles.others import close, float32_angle, require, theirs

marian, m2m, whisper = theirs("marian"), theirs("m2m_100"), theirs("whisper")
gptj, detr = theirs("gptj"), theirs("detr")
require("x-transformers")

from x_transformers.x_transformers import ScaledSinusoidalEmbedding  # noqa: E402

TOKENS = 60


def ours(encoding: Sinusoidal, pos: Positions) -> torch.Tensor:
    """What is added to embeddings: the lowering and the definition, which must be one."""
    table = encoding.embed(torch.zeros(1, pos.length, encoding.width, dtype=torch.float64), pos)
    close(table, encoding.absolute(pos))
    return table[0]


def halves(table: torch.Tensor) -> torch.Tensor:
    """The same columns with all sines first."""
    return torch.cat([table[:, 0::2], table[:, 1::2]], dim=-1)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 16, 37])
def test_marian_has_the_papers_columns_in_halves(width):
    """MarianSinusoidalPositionalEmbedding.create_weight: float64, cast at the end; one sine more where odd."""
    their = marian.MarianSinusoidalPositionalEmbedding(TOKENS, width).create_weight()
    close(halves(ours(Sinusoidal(width), sequence(TOKENS))), their.double(), 2**-24)


def test_gptj_table_has_the_papers_columns_in_halves():
    """create_sinusoidal_positions; float32 angles."""
    expected = halves(ours(Sinusoidal(16), sequence(TOKENS)))
    close(gptj.create_sinusoidal_positions(TOKENS, 16).double(), expected, float32_angle(TOKENS))


@pytest.mark.parametrize("scale", [1.0, 16**-0.5, 3.0])
def test_x_transformers_has_the_papers_columns_in_halves_and_a_scale(scale):
    """ScaledSinusoidalEmbedding, whose scale is learned and begins at w^-1/2; float32 angles."""
    scaled = ScaledSinusoidalEmbedding(16)
    places = torch.tensor([0.0, 7.5, -3.0, 59.0])
    with torch.no_grad():
        scaled.scale.fill_(scale)
        their = scaled(torch.zeros(1, 4, 16), pos=places)
    pos = Positions(places.double()[None, :, None])
    found = ours(Sinusoidal(16, scale=scale), pos)
    close(their.double(), halves(found), scale * float32_angle(TOKENS))


@pytest.mark.parametrize("width", [4, 5, 7, 16, 37])
def test_m2m100_is_tensor2tensor(width):
    """M2M100SinusoidalPositionalEmbedding.get_embedding: even and odd widths, no padding row."""
    their = m2m.M2M100SinusoidalPositionalEmbedding.get_embedding(TOKENS, width)
    found = ours(Sinusoidal(width, convention="tensor2tensor"), sequence(TOKENS))
    close(found, their.double(), float32_angle(TOKENS))


@pytest.mark.parametrize("base", [10_000.0, 50.0])
def test_whisper_is_tensor2tensor(base):
    """sinusoids(length, channels, max_timescale); even widths only."""
    found = ours(Sinusoidal(20, base, "tensor2tensor"), sequence(TOKENS))
    close(found, whisper.sinusoids(TOKENS, 20, base).double(), float32_angle(TOKENS))


@pytest.mark.parametrize("width", [2, 3])
def test_one_frequency_where_theirs_divide_by_zero(width):
    """get_embedding(4, 2) and (4, 3) divide by h - 1 = 0; the one frequency there is has to be 1."""
    with pytest.raises(ZeroDivisionError):
        m2m.M2M100SinusoidalPositionalEmbedding.get_embedding(4, width)
    p = torch.arange(4, dtype=torch.float64)
    expected = torch.stack([p.sin(), p.cos(), torch.zeros(4, dtype=torch.float64)], dim=-1)[:, :width]
    close(ours(Sinusoidal(width, convention="tensor2tensor"), sequence(4)), expected)


def test_no_permutation_turns_one_convention_into_the_other():
    """At p = 1 and width 4 the paper has frequencies 1 and 1e-2, tensor2tensor 1 and 1e-4."""
    one = sequence(1, 1)
    sine, cosine = torch.sin, torch.cos
    angle = torch.tensor([1.0, 1e-2, 1e-4], dtype=torch.float64)
    paper = torch.stack([sine(angle[0]), cosine(angle[0]), sine(angle[1]), cosine(angle[1])])
    released = torch.stack([sine(angle[0]), sine(angle[2]), cosine(angle[0]), cosine(angle[2])])
    close(ours(Sinusoidal(4), one)[0], paper)
    close(ours(Sinusoidal(4, convention="tensor2tensor"), one)[0], released)


@pytest.mark.parametrize("rows, columns", [(2, 3), (3, 5)])
def test_detr_encodes_the_row_in_the_first_half(rows, columns):
    """DetrSinePositionEmbedding without normalisation counts rows and columns from 1; each half is the paper's."""
    width = 24
    their = detr.DetrSinePositionEmbedding(num_position_features=width // 2)
    found = ours(Sinusoidal(width, axes=2), grid(rows, columns).shifted(1.0))
    expected = their(shape=torch.Size((1, 3, rows, columns)), device="cpu", dtype=torch.float64)
    close(found, expected[0].flatten(1).T, 1e-14)
