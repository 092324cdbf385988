"""What the documents say of published models, beside what their makers tell: a table with the basis of each entry."""

from dataclasses import dataclass
from typing import Literal

Basis = Literal["paper", "code", "configuration", "model card", "makers' answer", "undisclosed"]
"""Where the makers say it: a paper or report, code of theirs, the settings or the page published with the weights, an
answer of theirs in a public discussion, or nowhere."""


@dataclass(frozen=True)
class Fact:
    """One assertion of a document about a model."""

    model: str
    asserted: tuple[str, ...]
    """What the document says; several where it leaves it open which."""
    document: str
    found: str | None
    """What the makers published; None: they tell nothing."""
    basis: Basis
    source: str
    """Where to read it. What is named without more was read for this table, pages of the web in stored copies. Of what
    is given as quoted, as told or as copied, only the quotation, the telling or the copy was read."""
    supposed: bool = False
    """Whether the document only supposes it, for an example, and asserts nothing of the model."""

    @property
    def standing(self) -> Literal["confirmed", "contradicted", "undisclosed", "supposed"]:
        """What became of the assertion; of a supposition nothing does."""
        if self.supposed:
            return "supposed"
        if self.found is None:
            return "undisclosed"
        return "confirmed" if self.found in self.asserted else "contradicted"


FACTS = (
    Fact("GPT-3.5", ("ALiBi",), "D1 최신 Position 기술 4", None, "undisclosed", "no statement of its makers found"),
    Fact(
        "GPT-4", ("ALiBi",), "D1 최신 Position 기술 4", None, "undisclosed",
        "GPT-4 Technical Report, arXiv 2303.08774, as quoted: it gives no details of the architecture",
    ),
    Fact(
        "GPT-4", ("RoPE", "ALiBi"), "D2 5", None, "undisclosed",
        "GPT-4 Technical Report, arXiv 2303.08774, as quoted: it gives no details of the architecture",
    ),
    Fact(
        "Falcon-7B", ("ALiBi",), "D1 최신 Position 기술 4", "RoPE", "model card",
        "huggingface.co/tiiuae/falcon-7b, commit 5b5668b of its card: rotary; config.json as copied: alibi is false",
    ),
    Fact(
        "Falcon-40B", ("ALiBi",), "D1 최신 Position 기술 4", "RoPE", "makers' answer",
        "huggingface.co/tiiuae/falcon-40b/discussions/17: rotary had the lower loss, ALiBi is in Falcon-RW",
    ),
    Fact(
        "Falcon-RW-7B", ("ALiBi",), "D1 최신 Position 기술 4", "ALiBi", "makers' answer",
        "huggingface.co/tiiuae/falcon-40b/discussions/17: the RW models use it; config.json as told: alibi is true",
    ),
    Fact(
        "MPT-7B", ("ALiBi",), "D1 최신 Position 기술 4", "ALiBi", "model card",
        "huggingface.co/mosaicml/mpt-7b, commit 1975e8d of its card: ALiBi; config.json as copied: alibi is true",
    ),
    Fact(
        "GPT-NeoX-20B", ("RoPE",), "D1 최신 Position 기술 3", "RoPE", "configuration",
        "github.com/EleutherAI/gpt-neox, configs/20B.yml: pos-emb is rotary, on a quarter of the dimensions",
    ),
    Fact(
        "LLaMA", ("RoPE",), "D1 최신 Position 기술 3", "RoPE", "code",
        "github.com/meta-llama/llama, commit 0504cf4, llama/model.py: apply_rotary_emb; arXiv 2302.13971 as quoted",
    ),
    Fact(
        "Llama", ("RoPE", "ALiBi"), "D2 5", "RoPE", "code",
        "github.com/meta-llama/llama, commit 0504cf4, llama/model.py: apply_rotary_emb; arXiv 2302.13971 as quoted",
    ),
    Fact(
        "PaLM", ("RoPE", "ALiBi"), "D2 5", "RoPE", "paper",
        "Chowdhery et al. 2022, arXiv 2204.02311, as told by summaries of it",
    ),
    Fact(
        "BERT", ("table of 1024",), "D2 1.1", "table of 512", "code",
        "github.com/google-research/bert, modeling.py: max_position_embeddings is 512 unless set",
        supposed=True,
    ),
    Fact(
        "GPT-2", ("table of 1024",), "D2 1.1", "table of 1024", "code",
        "github.com/openai/gpt-2, src/model.py: n_ctx, the rows of wpe, is 1024 unless set",
        supposed=True,
    ),
)  # fmt: skip
