"""C10: which published model has which encoding."""

from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.models import FACTS
from gnomon.claims.rules import c10
from gnomon.claims.shapes import Each, Row, Rows, Text


def evidence() -> Numbers:
    """The assertions by what became of them, and the whole table."""
    numbers = {
        standing: [f"{fact.model} ({fact.document[:2]})" for fact in FACTS if fact.standing == standing]
        for standing in ("confirmed", "contradicted", "undisclosed", "supposed")
    }
    rows = [
        [f.model, f.document, " or ".join(f.asserted), f.found or "not told", f.standing, f.basis, f.source]
        for f in FACTS
    ]
    return numbers | {"table": rows}


CLAIM = Claim(
    id="C10",
    title="which models have ALiBi, which RoPE",
    english="GPT-3.5, GPT-4, Falcon and MPT have ALiBi; GPT-NeoX and LLaMA have RoPE; Llama, PaLM and GPT-4 have "
    "one of the two. (Only supposed: that BERT and GPT-2 have tables of 1024 places.)",
    korean="GPT-3.5, GPT-4, Falcon, MPT는 ALiBi를, GPT-NeoX, LLaMA는 RoPE를 쓰고, Llama, PaLM, GPT-4는 둘 중 "
    "하나를 쓴다. (BERT와 GPT-2의 위치 표가 1024칸이라는 것은 가정일 뿐이다.)",
    document="D1 and D2",
    section="최신 Position 기술 3, 4; 1.1, 5",
    question="What did the makers of each model publish?",
    evidence=evidence,
    rule=c10.rule,
    columns={"table": ("model", "said in", "asserted", "found", "standing", "basis", "source")},
    shape={
        "confirmed": Each(Text(), least=0),
        "contradicted": Each(Text(), least=0),
        "undisclosed": Each(Text(), least=0),
        "supposed": Each(Text(), least=0),
        "table": Rows(Row((Text(),) * 7)),
    },
)
