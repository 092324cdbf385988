"""Other people's rows and settings: converted projections say the same, and what cannot be known is asked for."""

import pytest
import torch

from gnomon.attention import attend
from gnomon.convert import paired, rope_options
from gnomon.encoding import Shape
from gnomon.encodings import create
from gnomon.encodings.rope import Rope
from gnomon.errors import OptionError
from gnomon.masks import BIDIRECTIONAL
from tests.core.common import HEAD_DIM, HEADS, KV_HEADS, SHAPE, WIDTH, at, gap, normal

ROTARY = [HEAD_DIM, 4, 2]


def test_order_of_rows():
    rows = torch.arange(8)
    assert paired(rows, 8, to="half").tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    assert paired(rows, 8, to="interleaved").tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
    assert paired(rows, 8, to="half", rotary=4).tolist() == [0, 2, 1, 3, 4, 5, 6, 7]
    assert paired(rows, 4, to="half").tolist() == [0, 2, 1, 3, 4, 6, 5, 7]
    assert paired(rows, 8, to="half", rotary=0).tolist() == list(range(8))


@pytest.mark.parametrize("rotary", ROTARY)
@pytest.mark.parametrize("heads", [HEADS, KV_HEADS, 1])
def test_there_and_back(heads, rotary):
    for shape in ((heads * HEAD_DIM, WIDTH), (heads * HEAD_DIM,), (heads * HEAD_DIM, 3, 2)):
        rows = normal(*shape)
        other = paired(rows, HEAD_DIM, to="half", rotary=rotary)
        assert other.shape == rows.shape and (rotary == 2 or not torch.equal(other, rows))
        assert torch.equal(paired(other, HEAD_DIM, to="interleaved", rotary=rotary), rows)


@pytest.mark.parametrize("rotary", ROTARY)
@pytest.mark.parametrize("kv_heads", [HEADS, KV_HEADS, 1])
@pytest.mark.parametrize("to", ["half", "interleaved"])
def test_attention_says_the_same(to, kv_heads, rotary):
    """Weights, biases and the gains of norms of queries and keys; grouped keys; a part of each head rotated."""
    x, v, pos = normal(2, 7, WIDTH), normal(2, kv_heads, 7, HEAD_DIM, seed=1), at(normal(2, 7) * 100)
    sizes = {"q": HEADS, "k": kv_heads}
    weights = {n: 0.3 * normal(h * HEAD_DIM, WIDTH, seed=h + i) for i, (n, h) in enumerate(sizes.items())}
    biases = {n: normal(h * HEAD_DIM, seed=5 + i) for i, (n, h) in enumerate(sizes.items())}
    gains = {n: 1 + 0.3 * normal(HEAD_DIM, seed=8 + i) for i, n in enumerate(sizes)}

    def attention(pairing, change):
        made = []
        for name in sizes:
            rows = torch.nn.functional.linear(x, change(weights[name]), change(biases[name]))
            rows = rows.unflatten(-1, (-1, HEAD_DIM)).transpose(1, 2)
            made.append(torch.nn.functional.rms_norm(rows, (HEAD_DIM,), change(gains[name])))
        return attend(*made, v, Rope(HEAD_DIM, pairing=pairing, fraction=rotary / HEAD_DIM), pos, mask=BIDIRECTIONAL)

    before = "half" if to == "interleaved" else "interleaved"
    expected = attention(before, lambda rows: rows)
    assert gap(attention(to, lambda rows: paired(rows, HEAD_DIM, to, rotary=rotary)), expected) < 1e-12
    if rotary > 2:
        assert gap(attention(to, lambda rows: rows), expected) > 1e-3
        assert gap(attention(to, lambda rows: paired(rows, HEAD_DIM, to, rotary=2)), expected) > 1e-3


@pytest.mark.parametrize(
    "shape, options",
    [((9,), {}), ((0, 4), {}), ((), {}), ((8,), {"to": "neox"}), ((8,), {"rotary": 3}), ((8,), {"rotary": 10})],
    ids=str,
)
def test_rows_that_are_none_of_a_projection(shape, options):
    with pytest.raises(OptionError):
        paired(torch.zeros(shape), 8, **{"to": "half"} | options)


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}


@pytest.mark.parametrize(
    "config, options",
    [
        ({}, {"theta": 1e4}),
        ({"rope_theta": 5e5}, {"theta": 5e5}),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}, {"theta": 1e6}),
        ({"rope_parameters": {"rope_theta": 1e6}, "rope_theta": 5.0}, {"theta": 1e6}),
        ({"rope_scaling": None, "rope_theta": 5e5}, {"theta": 5e5}),
        (
            {"rope_scaling": {"type": "linear", "factor": 2}, "rope_theta": 5e5},
            {"theta": 5e5, "scaling": "linear", "factor": 2},
        ),
        (
            {"rope_scaling": {"type": "dynamic", "factor": 2.0}, "max_position_embeddings": 512},
            {"theta": 1e4, "scaling": "dynamic", "factor": 2.0, "original_length": 512.0},
        ),
        (
            {"rope_parameters": YARN | {"attention_factor": 1.0, "beta_fast": None, "truncate": False}},
            {"theta": 1e4, "scaling": "yarn", "factor": 4.0, "original_length": 64.0, "attention_factor": 1.0,
             "truncate": False},
        ),
        (
            {"rope_scaling": {"type": "dynamic", "alpha": 1000.0, "factor": 1.0, "beta_fast": 32}},
            {"theta": 1e4, "scaling": "ntk", "factor": 1000.0},
        ),
        (
            {"rope_scaling": {"type": "dynamic", "alpha": 0, "factor": 2.0, "mscale": 1.0},
             "max_position_embeddings": 512},
            {"theta": 1e4, "scaling": "dynamic", "factor": 2.0, "original_length": 512.0},
        ),
        (
            {"rope_scaling": {"type": "su", "short_factor": [1, 1, 2, 2], "long_factor": [1, 2, 3, 4]},
             "max_position_embeddings": 256, "original_max_position_embeddings": 64},
            {"theta": 1e4, "scaling": "longrope", "short_factor": (1.0, 1.0, 2.0, 2.0),
             "long_factor": (1.0, 2.0, 3.0, 4.0), "original_length": 64.0, "factor": 4.0},
        ),
        (
            {"rope_scaling": {"type": "mrope", "mrope_section": [2, 1, 1]}, "model_type": "qwen2_vl"},
            {"theta": 1e4, "axes": 3, "sections": (2, 1, 1)},
        ),
        (
            {"rope_scaling": {"mrope_section": [2, 1, 1], "mrope_interleaved": True, "rope_type": "default"}},
            {"theta": 1e4, "axes": 3, "sections": (2, 1, 1), "layout": "interleaved"},
        ),
        ({"rotary_pct": 0.25, "rotary_emb_base": 500}, {"theta": 500.0, "fraction": 0.25}),
        ({"partial_rotary_factor": 0.5}, {"theta": 1e4, "fraction": 0.5}),
        ({"rope_parameters": {"partial_rotary_factor": 0.5}, "rotary_pct": 0.25}, {"theta": 1e4, "fraction": 0.5}),
        (
            {"model_type": "gptj", "rotary_dim": 4, "n_embd": 32, "n_head": 4},
            {"theta": 1e4, "pairing": "interleaved", "fraction": 0.5},
        ),
        ({"model_type": "deepseek_v3"}, {"theta": 1e4, "pairing": "interleaved"}),
        ({"model_type": "deepseek_v3", "rope_interleave": False}, {"theta": 1e4}),
        ({"model_type": "glm_moe_dsa", "rope_interleave": False}, {"theta": 1e4, "pairing": "interleaved"}),
        ({"model_type": "of_mine", "rope_interleave": True}, {"theta": 1e4, "pairing": "interleaved"}),
        (
            {"rope_parameters": YARN, "original_max_position_embeddings": None},
            {"theta": 1e4, "scaling": "yarn", "factor": 4.0, "original_length": 64.0},
        ),
    ],
    ids=str,
)  # fmt: skip
def test_settings(config, options):
    assert rope_options({"model_type": "llama"} | config) == options
    assert create("rope", SHAPE, **options).theta == options["theta"]


@pytest.mark.parametrize("model_type", [None, "of_mine", "nanochat", "pixtral"])
def test_a_pairing_that_cannot_be_known_is_asked_for(model_type):
    config = {} if model_type is None else {"model_type": model_type}
    with pytest.raises(OptionError, match="pairing='half'"):
        rope_options(config)
    assert rope_options(config, pairing="half") == {"theta": 1e4}
    assert rope_options(config | {"model_type": "llama"}, pairing="interleaved")["pairing"] == "interleaved"
    with pytest.raises(OptionError, match="half, interleaved"):
        rope_options(config, pairing="neox")


def test_what_a_scheme_needs_is_told_in_words():
    with pytest.raises(OptionError) as error:
        create("rope", SHAPE, scaling="yarn")
    assert error.value.allowed == "factor, original_length"


NESTED = {
    "model_type": "llama",
    "rope_parameters": {
        "full_attention": YARN | {"truncate": False, "rope_theta": 1e6},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        "chunked_attention": None,
        "truncate": True,
    },
}


def test_layers_of_several_types():
    """Each is read from its own table: a `truncate` beside them is not that of the inner one."""
    full = rope_options(NESTED, layer_type="full_attention")
    assert full["theta"] == 1e6 and full["truncate"] is False
    assert rope_options(NESTED, layer_type="sliding_attention") == {"theta": 1e4}
    with pytest.raises(OptionError, match="full_attention"):
        rope_options(NESTED)
    with pytest.raises(OptionError, match="did you mean 'full_attention'"):
        rope_options(NESTED, layer_type="full_atention")
    with pytest.raises(OptionError, match="none"):
        rope_options(NESTED, layer_type="chunked_attention")
    same = {
        "model_type": "llama",
        "rope_parameters": {name: {"rope_theta": 7.0} for name in ("full_attention", "sliding_attention")},
    }
    assert rope_options(same) == {"theta": 7.0}


def test_older_configs_with_a_base_for_windows():
    """Gemma 3: windowed layers have a base of their own and no scaling."""
    gemma = {
        "model_type": "gemma3_text",
        "rope_theta": 1e6,
        "rope_local_base_freq": 1e4,
        "rope_scaling": {"rope_type": "linear", "factor": 8.0},
    }
    assert rope_options(gemma, layer_type="full_attention") == {"theta": 1e6, "scaling": "linear", "factor": 8.0}
    assert rope_options(gemma, layer_type="sliding_attention") == {"theta": 1e4}
    modern = {"model_type": "modernbert", "global_rope_theta": 160_000.0, "local_rope_theta": 1e4}
    assert rope_options(modern, layer_type="full_attention") == {"theta": 160_000.0}
    assert rope_options(modern, layer_type="sliding_attention") == {"theta": 1e4}
    for config in (gemma, modern):
        with pytest.raises(OptionError, match="layer_type"):
            rope_options(config)


@pytest.mark.parametrize(
    "config, word",
    [
        ({"rope_scaling": {"type": "yarrn", "factor": 4.0}}, "did you mean 'yarn'"),
        ({"rope_scaling": {"type": "axial"}}, "axes=2"),
        ({"rope_scaling": {"type": "yarn", "factor": 4.0}, "max_position_embeddings": 8}, "original_max_position"),
        ({"rope_scaling": {"type": "dynamic", "factor": 4.0}}, "max_position_embeddings"),
        ({"rope_scaling": YARN | {"beta_fst": 30}}, "did you mean 'beta_fast'"),
        ({"rope_scaling": {"type": "linear", "factor": 4.0, "attention_factor": 2.0}}, "attention_factor"),
        ({"rope_scaling": {"type": "default", "factor": 8.0}}, "factor"),
        ({"rope_parameters": {"rope_type": "default", "rope_thetta": 1e6}}, "did you mean 'rope_theta'"),
        ({"rope_scaling": {"type": "mrope", "mrope_secton": [2, 1, 1]}}, "did you mean 'mrope_section'"),
        ({"rope_scaling": {"type": "dynamic", "alpha": 1000.0, "fctor": 1.0}}, "did you mean 'factor'"),
        ({"rope_scaling": {"type": "ntk", "factor": 2.0, "beta_fast": 32}}, "beta_fast"),
        ({"rope_scaling": {"rope_type": None}}, "rope_type"),
        ({"rope_scaling": {"rope_type": ["yarn"]}}, "rope_type"),
        ({"rope_scaling": "yarn"}, "rope_scaling"),
        ({"rope_theta": "much"}, "base"),
        ({"rotary_dim": 4}, "head_dim"),
    ],
    ids=str,
)
def test_settings_that_cannot_be_known(config, word):
    with pytest.raises(OptionError, match=word):
        rope_options({"model_type": "llama"} | config)


def test_a_type_of_dynamic_is_not_a_scale_of_positions():
    config = {"model_type": "llama", "rope_scaling": {"type": "dynamic", "factor": 2.0}}
    rope = create("rope", SHAPE, **rope_options(config | {"max_position_embeddings": 4096}))
    assert rope.scaling.scheme == "dynamic"
    assert torch.equal(rope.frequencies(length=torch.tensor(9.0).double()), Rope(HEAD_DIM).frequencies())


def test_a_fraction_is_not_ignored_without_scaling():
    """Whatever the scheme, the same dimensions turn."""
    config = {"partial_rotary_factor": 0.5, "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}
    scaled = {"partial_rotary_factor": 0.5, "rope_parameters": {"rope_type": "linear", "factor": 2.0}}
    plain, linear = (
        create("rope", Shape(WIDTH, HEADS, HEAD_DIM), **rope_options(c, pairing="half")) for c in (config, scaled)
    )
    assert plain.rotary == linear.rotary == 4


@pytest.mark.parametrize("config", [None, 5, "llama", object()], ids=["none", "a number", "text", "an object"])
def test_what_is_no_config(config):
    with pytest.raises(OptionError, match="rope_options, config"):
        rope_options(config, pairing="half")


def test_rows_that_are_no_tensor():
    with pytest.raises(OptionError, match="paired, rows"):
        paired(None, 8, to="half")
