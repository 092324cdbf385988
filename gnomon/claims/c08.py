"""C08: what the encodings cost, in time, memory and code."""

from gnomon.claims import costs
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.rules import c08

NAMES = ("sinusoidal", "rope", "alibi", "shaw", "transformer_xl", "t5", "deberta", "seqpe", "chain")


def evidence() -> Numbers:
    """Times and peaks of memory as `make bench` committed them, and lines of code as they are here."""
    found = costs.measured()
    return {
        "about": costs.about(found),
        "times": costs.times(found, NAMES),
        "memory": costs.memory(found, NAMES),
        "statements": costs.statements(NAMES),
    }


CLAIM = Claim(
    id="C08",
    title="what the encodings cost",
    english="RoPE computes slightly more than plain attention, relative encodings are complicated, ALiBi is "
    "fast, and SeqPE costs slightly more than sinusoidal positions, RoPE and ALiBi.",
    korean="RoPE는 보통의 어텐션보다 조금 더 계산하고, 상대적 방식은 구현이 복잡하며, ALiBi는 빠르고, SeqPE는 "
    "사인파·RoPE·ALiBi보다 비용이 조금 더 든다.",
    document="D1",
    section="최신 Position 기술 2-5",
    question="How long does a forward and a backward pass take, and how much memory, as a ratio to attention "
    "without positions, and how many lines does each encoding take?",
    evidence=evidence,
    rule=c08.rule,
    # Read from a file of the checkout, which others do not have.
    cheap=False,
    awaits="The same on a GPU.",
    columns={
        "about": costs.ABOUT_COLUMNS,
        "times": costs.TIME_COLUMNS,
        "memory": costs.MEMORY_COLUMNS,
        "statements": costs.STATEMENT_COLUMNS,
    },
    shape={
        "about": costs.ABOUT,
        "times": costs.TIME_ROWS,
        "memory": costs.MEMORY_ROWS,
        "statements": costs.STATEMENT_ROWS,
    },
)
