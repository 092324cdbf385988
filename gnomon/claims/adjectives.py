"""What the tables of the documents say of each method, word by word, and by which numbers each word is judged.

Thresholds are older than any result. Where a rule of a claim judges the same thing, its threshold is taken.
"""

from dataclasses import dataclass
from math import inf
from typing import Literal

from gnomon.claims.columns import COLUMNS, Column
from gnomon.claims.rules import c22
from gnomon.claims.rules.c08 import SLIGHT
from gnomon.claims.sources import Kernels, Published
from gnomon.lab.measures import TOLERANCE

SAME = 1e-9
"""Share of the outputs that a shift may change in float64 where nothing changes: rounding leaves a thousandth of that
(as in C07)."""
LIGHT = 1.1
"""Times the memory of plain attention that still counts as light: the bound that the benchmarks hold a bias to."""
MISSED = 0.5
"""Share of the kernels of distance that an encoding of limited expression misses alone: half of them or more."""
ALL = 1.0
"""Share of the models that the document names."""


@dataclass(frozen=True)
class Within:
    """Whether a number lies in a range: the number itself, or its ratio to that of each of `over`."""

    column: str
    low: float = -inf
    high: float = inf
    over: tuple[str, ...] = ()
    enough: bool = True
    """False: the word may be wrong all the same, so that a number in the range decides nothing."""

    @property
    def told(self) -> str:
        """What is asked, in words."""
        ends = [f"at least {self.low:g}"] * (self.low > -inf) + [f"at most {self.high:g}"] * (self.high < inf)
        of = f" times that of each of {_listed(self.over)}" if self.over else ""
        return f"{' and '.join(ends)}{of}{'' if self.enough else ', which is needed and not enough'}"


@dataclass(frozen=True)
class Beside:
    """Whether it is better than each of others, or worse, by as much as counts in the column."""

    column: str
    others: tuple[str, ...]
    wanted: Literal["better", "worse"] = "better"

    @property
    def told(self) -> str:
        """What is asked, in words."""
        return f"{self.wanted} than {_listed(self.others)}"


@dataclass(frozen=True)
class Adjective:
    """One word of a table about one method."""

    method: str
    labels: tuple[str, ...]
    """The encodings that the document means by it."""
    table: str
    """Where it stands: its document and section."""
    english: str
    korean: str
    asked: tuple[Within | Beside, ...]


EXPRESSION = Column(
    "kernels", "kernels missed", "entanglement and dilution", Kernels(), "share missed", "lower",
    "Kernels of distance that the encoding alone misses, of those of C34.",
)  # fmt: skip
NAMED = Column(
    "models", "models named", "cost", Published("D1"), "share confirmed", "higher",
    "Of the models that the first document names for an encoding, those whose makers confirm it (C10): no census.",
)  # fmt: skip

JUDGED: tuple[Column, ...] = (*COLUMNS, EXPRESSION, NAMED)
"""The columns that words are judged by."""

RELATIVE = ("shaw", "transformer_xl")
PLACES = ("sinusoidal", "learned")
BERT = c22.BERT
"""The table that begins as large as the words, as BERT's does."""
SEQUENTIAL = ("seqpe", "chain")
"""The paper reads the digits of a position in turn; the document tells of a chain of positions. Both are asked."""

COPES = (Within("text_2x", high=TOLERANCE), Within("text_8x", high=TOLERANCE))
TIMES = ("step", "forward", "backward")
FAST = tuple(Within(column, high=SLIGHT) for column in TIMES)

D1_1, D1_2, D1_3, D1_4, D1_5 = (f"D1 최신 Position 기술 {at}" for at in range(1, 6))

ADJECTIVES = (
    Adjective(
        "Sinusoidal", ("sinusoidal",), D1_1, "simple: nothing is learned", "단순함: 학습할 것이 없다",
        (Within("parameters", high=0), Within("code", high=1 / SLIGHT, over=RELATIVE)),
    ),
    Adjective(
        "Sinusoidal", ("sinusoidal",), D1_1, "carries over to longer texts", "더 긴 글에도 통한다",
        (Within("text_2x", high=TOLERANCE),),
    ),
    Adjective(
        "Sinusoidal", ("sinusoidal",), D1_1, "limited in what it can express", "나타낼 수 있는 것이 제한적이다",
        (Within("kernels", low=MISSED),),
    ),
    Adjective(
        "Relative", RELATIVE, D1_2, "generalises better over lengths", "길이에 대한 일반화가 더 낫다",
        (Beside("text_2x", PLACES), Beside("text_8x", PLACES)),
    ),
    Adjective(
        "Relative", RELATIVE, D1_2, "strong at learning structures that repeat", "되풀이되는 구조를 잘 배운다",
        (Beside("repeated_2x", PLACES),),
    ),
    Adjective(
        "Relative", RELATIVE, D1_2, "complicated to implement", "구현이 복잡하다",
        (Within("code", low=SLIGHT, over=("sinusoidal", "alibi")),),
    ),
    Adjective(
        "RoPE", ("rope",), D1_3, "products of queries and keys follow relative positions",
        "쿼리와 키의 내적이 상대 위치를 따른다", (Within("text_shift", high=SAME),),
    ),
    Adjective("RoPE", ("rope",), D1_3, "strong on long contexts", "긴 문맥에 강하다", COPES),
    Adjective(
        "RoPE", ("rope",), D1_3, "the standard of large language models", "대형 언어 모델의 표준이다",
        (Within("models", low=ALL, enough=False),),
    ),
    Adjective(
        "RoPE", ("rope",), D1_3, "computes slightly more", "계산이 조금 더 든다",
        tuple(Within(column, low=1, high=SLIGHT) for column in TIMES),
    ),
    Adjective(
        "ALiBi", ("alibi",), D1_4, "simple to implement", "구현이 단순하다",
        (Within("parameters", high=0), Within("code", high=SLIGHT, over=("sinusoidal",))),
    ),
    Adjective("ALiBi", ("alibi",), D1_4, "light on memory", "메모리를 적게 쓴다", (Within("memory", high=LIGHT),)),
    Adjective("ALiBi", ("alibi",), D1_4, "fast", "빠르다", FAST),
    Adjective(
        "ALiBi", ("alibi",), D1_4, "very strong and steady on long contexts", "긴 문맥에 매우 강하고 안정적이다", COPES,
    ),
    Adjective(
        "ALiBi", ("alibi",), D1_4, "knows structure as a linear penalty only", "구조를 선형 벌점으로만 나타낸다",
        (Within("kernels", low=MISSED),),
    ),
    Adjective(
        "SeqPE", SEQUENTIAL, D1_5, "reflects order better than Sinusoidal and ALiBi",
        "사인파와 ALiBi보다 순서를 더 잘 나타낸다",
        (Beside("copy_2x", ("sinusoidal", "alibi")), Beside("reverse_2x", ("sinusoidal", "alibi"))),
    ),
    Adjective("SeqPE", SEQUENTIAL, D1_5, "adapts to long contexts", "긴 문맥에 적응한다", COPES[:1]),
    Adjective(
        "SeqPE", SEQUENTIAL, D1_5, "adapts to lengths more flexibly than RoPE and ALiBi",
        "RoPE와 ALiBi보다 여러 길이에 유연하게 적응한다", (Beside("text_2x", ("rope", "alibi")),),
    ),
    Adjective(
        "SeqPE", SEQUENTIAL, D1_5, "costs slightly more than Sinusoidal, RoPE and ALiBi",
        "사인파, RoPE, ALiBi보다 계산이 조금 더 든다",
        tuple(Within(column, low=1, high=SLIGHT, over=("sinusoidal", "rope", "alibi")) for column in TIMES),
    ),
    Adjective(
        "SeqPE", SEQUENTIAL, D1_5, "extrapolates with limits, less than Sinusoidal", "외삽이 사인파만큼은 되지 않는다",
        (Within("text_8x", low=TOLERANCE), Beside("text_8x", ("sinusoidal",), "worse")),
    ),
    Adjective(
        "BERT (sum)", (BERT,), "D2 3.1", "content and position are entangled in one sum",
        "내용과 위치가 하나의 합으로 얽힌다",
        (Beside("masked_loss", ("deberta",), "worse"), Beside("pairs", ("deberta",), "worse")),
    ),
    Adjective(
        "DeBERTa", ("deberta",), "D2 3.1", "kept apart, little is lost and learning is efficient",
        "따로 두면 잃는 것이 적고 효율적으로 배운다",
        (Beside("masked_loss", ("sinusoidal", BERT)), Beside("pairs", ("sinusoidal", BERT))),
    ),
)  # fmt: skip
"""Of the tables at the ends of sections 4 and 5 of the first document, with the advantages and drawbacks from which
they are drawn up, and of the table in section 3.1 of the second."""


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
