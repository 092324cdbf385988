"""Which dimensions a model type of transformers pairs, against the source of the modelling files installed."""

import re
from pathlib import Path

import pytest
import transformers

from gnomon.model_types import HALVES, NEIGHBOURS, SWITCHED

MODELS = Path(transformers.__file__).parent / "models"

OF_NEIGHBOURS = (
    r"stack\(\s*[\(\[]\s*-x2, x1|stack\(\[-query_layer\[\.\.\., 1::2\]|view_as_complex|\.\.\., -1, 1, 2\)"
    r"|= x\[\.\.\., ::2\], x\[\.\.\., 1::2\]|= apply_rotary_pos_emb_interleave\("
)
OF_HALVES = r"cat\(\(-x2, x1\)|torch\.chunk\(x, 2, dim=-1\)|cat\(\(-rotated_states_end"
ROTATES = r"rope_parameters|rope_theta|rotary_|rope_scaling"
NO_TEXT = (
    r"vision|vit|dino|audio|asr|video|music|sapiens|efficientloftr|pixtral|mlcd|wav2vec|seamless|dit|timestamp"
    r"|_encoder$"
)
"""Types that are read otherwise: axial, or relative to a table."""

TEXT_FUNCTION = {"ernie4_5_vl_moe": "rotate_half_text", "glm4v": "rotate_half_llm", "glm_ocr": "rotate_half_llm"}
"""Files with both, and the function that turns the queries of the text model."""


def sources() -> dict[str, str]:
    """Model type -> the source of its modelling file, of text models that rotate and have a file of their own."""
    found = {"roformer": (MODELS / "roformer" / "modeling_roformer.py").read_text(encoding="utf-8")}
    for file in sorted(MODELS.glob("*/configuration_*.py")):
        modelling = file.with_name(file.name.replace("configuration_", "modeling_"))
        if not modelling.is_file():
            continue
        for config in re.split(r"^(?=class )", file.read_text(encoding="utf-8"), flags=re.M)[1:]:
            said = re.search(r'^    model_type(?:: str)? = "([^"]+)"', config, re.M)
            if said and re.search(ROTATES, config) and not re.search(NO_TEXT, said[1]):
                found[said[1]] = _of_text(modelling)
    return found


def _of_text(modelling: Path) -> str:
    """The source, or that of the function which turns the text model's queries where a file has two."""
    source, name = modelling.read_text(encoding="utf-8"), TEXT_FUNCTION.get(modelling.parent.name)
    return source if name is None else re.search(rf"^def {name}\(.*?^    return .*?$", source, re.M | re.S)[0]


SOURCES = sources()


def pairing(source: str) -> str | None:
    """Where a file has both, it pairs halves in what picks keys (an indexer), and neighbours in attention."""
    if re.search(OF_NEIGHBOURS, source):
        return "interleaved"
    return "half" if re.search(OF_HALVES, source) else None


def test_no_type_is_in_both_lists():
    assert not set(HALVES) & set(NEIGHBOURS) and set(SWITCHED) <= set(NEIGHBOURS)
    assert len(set(HALVES)) == len(HALVES) and len(set(NEIGHBOURS)) == len(NEIGHBOURS)


@pytest.mark.parametrize("names, expected", [(HALVES, "half"), (NEIGHBOURS, "interleaved")], ids=["half", "neighbours"])
def test_every_listed_type_pairs_as_listed(names, expected):
    """And every type whose file shows how it pairs is listed."""
    assert set(names) == {name for name, source in SOURCES.items() if pairing(source) == expected}


def test_types_whose_config_says_which():
    switched = {name for name, source in SOURCES.items() if re.search(r"if self\.config\.rope_interleave", source)}
    assert set(SWITCHED) == switched


def test_a_type_that_turns_the_other_way_is_in_no_list():
    """nanochat turns queries and keys by minus their position: no pairing says that."""
    assert "nanochat" in SOURCES and "nanochat" not in (*HALVES, *NEIGHBOURS)
