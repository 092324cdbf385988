"""A claim of the two documents: what it says, how it is checked, and the rule that turns numbers into a verdict."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from gnomon.claims import shapes

Number = float | int | str | bool | None
Numbers = Mapping[str, Number | list]
"""What was measured, by name: all that a rule sees, and all that a record keeps."""

Word = Literal["holds", "holds if", "does not hold", "inconclusive", "not measured here", "not measured yet"]
WORDS: tuple[Word, ...] = get_args(Word)

Document = Literal["D1", "D2", "D1 and D2"]

DOCUMENTS = {
    "D1": "Attention Is All You Need: Position Encoding과 추가 기법들",
    "D2": "6.1 절대적 위치 인코딩(APE)의 한계",
}
"""The documents by the name that claims give them."""


_CONDITION = re.compile(r"holds ((?:if|of) .+?)(?::|;|\.(?=\s|$))")
"""From `holds if` or `holds of` to the end of the clause; a point within a number does not end it."""


@dataclass(frozen=True)
class Verdict:
    """A word and the sentences that carry it, made from the numbers.

    `holds if` tells its condition in a clause that begins so, `does not hold` its counterexample, `not measured ...`
    its reason.
    """

    word: Word
    because: str

    def __post_init__(self):
        if self.word not in WORDS or not self.because:
            raise ValueError(f"a verdict is one of {', '.join(WORDS)}, with a reason: {self.word!r}, {self.because!r}")
        if self.word == "holds if" and self.condition is None:
            raise ValueError(f"a verdict that `holds if` says what if, up to a colon or a full stop: {self.because!r}")

    @property
    def condition(self) -> str | None:
        """Under which condition it holds, as `because` tells it: "if ..." or "of ..."; None of other verdicts."""
        found = _CONDITION.search(self.because) if self.word == "holds if" else None
        return None if found is None else found[1]

    @property
    def short(self) -> str:
        """The word, with its condition."""
        return self.word if self.condition is None else f"holds {self.condition}"


Rule = Callable[[Numbers], Verdict]
"""A pure function of numbers, in a file of its own beside its thresholds: `gnomon/claims/rules/`."""


@dataclass(frozen=True)
class Claim:
    """One entry of the ledger. What it says is told in our own words."""

    id: str
    title: str
    """A few words for a table."""
    english: str
    korean: str
    document: Document
    section: str
    """Where the document says it, by the document's own numbers; `;` between those of D1 and of D2."""
    question: str
    """What is measured or proved to settle it."""
    evidence: Callable[[], Numbers]
    """Finds the numbers; DataError where what it reads is not there."""
    rule: Rule
    shape: Mapping[str, shapes.Shape]
    """What each of the numbers has to be, for a rule to make sense of them."""
    cheap: bool = True
    """Whether the numbers are found in a few seconds, and so anew each time that they are asked for."""
    awaits: str = ""
    """What of the question is in none of the numbers."""
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What the values of a row are, for each list of rows among the numbers, and for a list that is one row."""

    def __post_init__(self):
        if not self.shape:
            raise ValueError(f"{self.id}: evidence states the shape of its numbers")

    @property
    def command(self) -> str:
        """What finds the numbers again."""
        return f"gnomon claims {self.id} -v" if self.cheap else f"gnomon claims {self.id} --record"

    @property
    def corrected(self) -> str:
        """Why the rule was changed after its first record, as its file tells it (CORRECTED); empty where it was not."""
        return self.rule.__globals__.get("CORRECTED", "")

    def check(self, numbers: Numbers) -> None:
        """ValueError, which says why, for numbers of another shape than is stated."""
        shapes.check(self.shape, numbers)

    def judge(self, numbers: Numbers | None) -> Verdict:
        """The verdict over these numbers, or that there are none."""
        if numbers is None:
            return Verdict("not measured yet", f"No record of it here; `{self.command}` makes one.")
        return self.rule(numbers)
