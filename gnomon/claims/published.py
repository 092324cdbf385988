"""Orderings that others have published, and what our own runs say of them: reproduced, contradicted or open.

Figures are those of the sources. What differs here from how they were found is told beside.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from gnomon.claims.experiments import Record
from gnomon.claims.lengths import rise
from gnomon.claims.published_numbers import (
    Evidence,
    best,
    formats,
    lost_in,
    numbers,
    right_at,
    right_in,
    scaled,
    together,
)
from gnomon.claims.rules import published as rules
from gnomon.claims.rules.published import Finding
from gnomon.claims.runs import here, right_past

COLUMNS = ("label", "seed", "number")
"""Of the rows of an ordering; a number is missing where a run has none that counts."""


@dataclass(frozen=True)
class Ordering:
    """One published ordering, and where our numbers for it come from."""

    id: str
    source: str
    published: str
    """What was found, with its numbers."""
    ordering: str
    """What of it is asked here, in one sentence."""
    here: str
    """What our number is, and how it is found otherwise than theirs."""
    experiment: str
    """The file in `experiments/` that answers it."""
    evidence: Evidence

    def judge(self, rows: Sequence[Sequence]) -> Finding:
        """What these rows say of it."""
        return rules.rule(self.id, rows)


@dataclass(frozen=True)
class Answer:
    """An ordering, the numbers for it and what they say."""

    ordering: Ordering
    rows: list[list]
    """`[label, seed, number]`."""
    finding: Finding

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        told = {
            field.name: getattr(self.ordering, field.name) for field in fields(Ordering) if field.name != "evidence"
        }
        return told | {
            "word": self.finding.word,
            "because": self.finding.because,
            "columns": list(COLUMNS),
            "rows": self.rows,
        }


def orderings() -> tuple[Ordering, ...]:
    """All of them, by id."""
    return ORDERINGS


def answered(folder: str | Path) -> list[Answer]:
    """Each ordering with what the exported results in `folder` say: `NAME/records.jsonl` of the experiment NAME."""
    found = {name: _records(Path(folder) / name) for name in {each.experiment for each in ORDERINGS}}
    answers = []
    for ordering in ORDERINGS:
        rows = ordering.evidence(found[ordering.experiment])
        answers.append(Answer(ordering, rows, ordering.judge(rows)))
    return answers


def _records(folder: Path) -> list[Record]:
    from gnomon.lab.exported import RECORDS, Exported

    return Exported(folder).records() if (folder / RECORDS).is_file() else []


TEXT, COPY, TASKS = "text", "algorithmic", "algorithmic_more"
FLAT, GRID = ({"name": "images", "positions": positions} for positions in ("flat", "grid"))
HEART = {"name": "ecg", "positions": "time", "sampling": "regular"}

PRESS = "Press et al. 2022, Train Short, Test Long (ALiBi)"
KAZEMNEJAD = "Kazemnejad et al. 2023, The Impact of Positional Encoding on Length Generalization (raw results, 3 seeds)"
HUANG = "Huang et al. 2025, A Formal Framework for Understanding Length Generalization (raw results of lacoco, 5 seeds)"
ZHOU = "Zhou et al. 2024, Transformers Can Achieve Length Generalization But Not Robustly"
PENG = "Peng et al. 2023, YaRN; measured in pull request 2268 of llama.cpp"
HE = "He et al. 2021, DeBERTa, ablation of the base model"

ORDERINGS = (
    Ordering(
        "P01", PRESS,
        "On WikiText-103, trained at 512 tokens, ALiBi has a perplexity of 18.40 at 3072; sinusoidal positions trained "
        "at 3072 have 18.67. It is best near twice the training length, then flat, and still strong at 10000.",
        "ALiBi's loss does not rise at two and at eight times the training length.",
        "By how much the loss on the same last bytes of windows rises, nats a byte, where theirs is over whole "
        "windows; bytes of Shakespeare, a small model.",
        TEXT,
        together(*(
            numbers(rise(times), "alibi", past=True, told=f"{{}} at {times} times", name="text") for times in (2, 8)
        )),
    ),
    Ordering(
        "P02", PRESS,
        "Of models trained at 512 tokens, those with sinusoidal positions degrade soonest on longer input, then those "
        "with rotary ones, then T5's bias; ALiBi does not (figure 1).",
        "At twice the training length the loss rises most for sinusoidal positions, less for RoPE, less for T5's bias, "
        "least for ALiBi.",
        "The rise of the loss on the same last bytes at twice the training length, nats a byte.",
        TEXT,
        numbers(rise(2), "alibi", "t5", "rope", "sinusoidal", past=True, name="text"),
    ),
    Ordering(
        "P03", PRESS,
        "With sinusoidal positions perplexity improves for a few more tokens than in training, and then explodes.",
        "A few tokens past the training length the loss under sinusoidal positions has risen already.",
        "The rise at 9/8 of the training length, nats a byte, of bytes that all lie past it.",
        TEXT,
        numbers(rise(9 / 8), "sinusoidal", past=True, name="text"),
    ),
    Ordering(
        "P04", KAZEMNEJAD,
        "Copying random characters, trained on 4 to 20, right on 21 to 40: T5's bias 42.0 %, ALiBi 33.1, no positions "
        "30.5, sinusoidal 2.8. (RoPE's 1.1 is of a quarter of the head, by the place in the tensor.)",
        "T5's bias copies more than ALiBi, and ALiBi and no positions more than sinusoidal positions.",
        "Right past training, the mean over lengths, the right answer so far being read, where theirs is generated.",
        COPY,
        numbers(right_past, "t5", "alibi", "none", "sinusoidal", past=True, name="copy", unique=None),
    ),
    Ordering(
        "P05", KAZEMNEJAD,
        "Reversing, trained on 4 to 20, right on 21 to 40: T5's bias 24.2 %, no positions 23.0, ALiBi 17.1, "
        "sinusoidal 2.3.",
        "T5's bias and no positions reverse more than ALiBi, and ALiBi more than sinusoidal positions.",
        "Right past training, the mean over lengths, the right answer so far being read.",
        TASKS,
        numbers(right_past, "t5", "none", "alibi", "sinusoidal", past=True, name="reverse"),
    ),
    Ordering(
        "P06", HUANG,
        "Trained on up to 50 symbols, learned positions that training shifts at random copy 51 to 100 symbols to "
        "0.9986 where all differ, to 0.2555 where two repeat; no positions 0.1800 and 0.2801.",
        "Learned positions, all of them trained, copy more rows past training where symbols differ than where they "
        "repeat, and more than no positions do.",
        "Right past training, the mean over lengths. A table whose rows past training are not trained says nothing of "
        "this; places drawn at random train all rows.",
        COPY,
        together(
            numbers(right_past, "randomised learned", "none", past=True, told="{}, unique", name="copy", unique=True),
            numbers(right_past, "randomised learned", past=True, told="{}, repeated", name="copy", unique=None),
        ),
    ),
    Ordering(
        "P07", HUANG,
        "Trained on up to 50 symbols, no positions copy none of 101 to 150, whether two repeat or all differ.",
        "Without positions hardly a row is copied at two and a half times the training length, repeated or not.",
        "Right at two and a half times the training length; 26 letters that repeat, where theirs are two.",
        COPY,
        together(
            numbers(right_at(2.5), "none", past=True, told="{}, unique", name="copy", unique=True),
            numbers(right_at(2.5), "none", past=True, told="{}, repeated", name="copy", unique=None),
        ),
    ),
    Ordering(
        "P08", HUANG,
        "Majority, trained on up to 50 letters: without positions 0.9986 on 51 to 100, 0.9846 on 101 to 150.",
        "Without positions the most frequent symbol is found at twice the training length.",
        "Right at twice the training length, of nine needed in ten.",
        TASKS,
        numbers(right_at(2), "none", past=True, name="count", ask=None),
    ),
    Ordering(
        "P09", HUANG,
        "Sorting 51 to 100 unique symbols, trained on up to 50: 0.9981 without positions.",
        "Without positions unique symbols are sorted at one and a half times the training length.",
        "Right at one and a half times the training length, of nine needed in ten.",
        TASKS,
        numbers(right_at(1.5), "none", past=True, name="sort", unique=None),
    ),
    Ordering(
        "P10", ZHOU,
        "Addition to 2.5 times the digits of training: above 98 % with digits reversed and index hints; without hints "
        "none generalises, and the standard order is worse than reversed for all encodings.",
        "Past training more sums are right with hints than without, and more reversed than plain.",
        "Right past training, the mean over lengths and over the encodings that have learned all three formats; small "
        "numbers, where theirs have up to 40 digits, 25 million weights and 30 million examples.",
        "addition",
        formats,
    ),
    Ordering(
        "P11", ZHOU,
        "Without index hints no encoding adds at 2.5 times the digits of training.",
        "At 2.5 times the digits the best of all encodings has fewer than one sum in ten right without hints.",
        "The most that any encoding has right, in each seed, of those that have learned the task.",
        "addition",
        best,
    ),
    Ordering(
        "P12", PENG,
        "Llama-2-7B at a scale of 1/8, without training: linear interpolation 54.48, YaRN 6.596 (perplexity).",
        "At eight times the training length, without further training, YaRN's loss is below that of linear "
        "interpolation.",
        "The loss on the same last bytes at eight times the training length, nats a byte.",
        TEXT,
        together(*(numbers(scaled(each, 8), "rope", past=True, told=each, name="text") for each in ("linear", "yarn"))),
    ),
    Ordering(
        "P13", PENG,
        "Llama-2-7B without training: a perplexity of 54.48 by linear interpolation to 1/8, 9.698 by a base of 57200.",
        "At eight times the training length, without further training, a larger base is better than linear "
        "interpolation.",
        "The loss on the same last bytes at eight times the training length, nats a byte; the base is that of NTK.",
        TEXT,
        together(*(numbers(scaled(each, 8), "rope", past=True, told=each, name="text") for each in ("linear", "ntk"))),
    ),
    Ordering(
        "P14", "Shaw et al. 2018, Self-Attention with Relative Position Representations",
        "Translation to German, BLEU: 29.2 with relative representations, 1.3 more than with sinusoidal positions.",
        "Relative representations predict better than sinusoidal positions within the training length.",
        "The loss on the last bytes of windows of the training length, nats a byte: text, and no translation.",
        TEXT,
        numbers(lambda record: here(record, "paired_loss"), "sinusoidal", "shaw", name="text"),
    ),
    Ordering(
        "P15", "s-chh, Vision Transformers from scratch: CIFAR-10, 0.82 million weights",
        "Accuracy: relative 2-D 90.57, RoPE 2-D 88.49, learned 1-D 86.52, none 79.63.",
        "Biases of two distances are right more often than RoPE on two axes, that more than a learned line, that more "
        "than no positions.",
        "Handwritten digits as trained, share right.",
        "images",
        together(
            numbers(right_in("as trained"), "relative_bias axes=2", "rope axes=2", **GRID),
            numbers(right_in("as trained"), "learned", "none", **FLAT),
        ),
    ),
    Ordering(
        "P16", "Heo et al. 2024, Rotary Position Embedding for Vision Transformer: DeiT-S on ImageNet",
        "From 224 to 384 pixels, without training: learned positions 80.4 to 79.4, mixed RoPE 80.9 to 81.8.",
        "On a canvas wider than in training mixed RoPE loses less than learned positions of the patches.",
        "How many fewer digits are right with three more blank columns. Theirs are larger pictures, and their table is "
        "interpolated.",
        "images",
        together(
            numbers(lost_in("3 wider", "as trained"), "learned", past=True, **FLAT),
            numbers(lost_in("3 wider", "as trained"), "rope_mixed axes=2", past=True, **GRID),
        ),
    ),
    Ordering(
        "P17", HE,
        "MNLI, SQuAD 2 and RACE: 86.3, 82.5 and 71.7 with both terms of position; 85.9, 81.3 and 69.3 without content "
        "to position; 86.0, 80.8 and 69.6 without position to content.",
        "Both terms together are better than either alone.",
        "The loss on masked bytes, nats; no finetuning, no enhanced mask decoder.",
        "masked",
        numbers(
            lambda record: here(record, "loss"), "deberta", "deberta terms=c2p", "deberta terms=p2c",
            name="masked", whole_words=None,
        ),
    ),
    Ordering(
        "P18", HE,
        "MNLI: DeBERTa 86.3, the same without the enhanced mask decoder 86.1, RoBERTa trained alike 84.9.",
        "Content and position apart are better than their sum.",
        "The loss on masked bytes, nats; no finetuning, no enhanced mask decoder.",
        "masked",
        numbers(lambda record: here(record, "loss"), "learned", "deberta", name="masked", whole_words=None),
    ),
    Ordering(
        "P19", "naixinlyu, positional encodings of time series: autoencoder, window of 100, 3 seeds",
        "F1 of anomalies: sinusoidal 0.345, 0.350, 0.329; learned 0.315, 0.314, 0.314; none 0.296, 0.308, 0.307.",
        "On a signal sinusoidal positions do better than learned ones, and those better than none.",
        "Share of heartbeats that are found at the time of training.",
        "time",
        numbers(right_in("regular, as trained"), "sinusoidal", "learned", "none", **HEART),
    ),
    Ordering(
        "P20", "Liu et al. 2023, Lost in the Middle",
        "Of several documents the one that is asked for is found most often where it stands first or last, about 20 "
        "points less often in the middle.",
        "A key is found less often in the middle of a text than at its ends, under RoPE and under ALiBi.",
        "Right at the start and at the end, less right in the middle, in texts of the training length.",
        "needle",
        numbers(lost_in("depth 0.5", "depth 0", "depth 1"), "rope", "alibi", past=True, name="passkey"),
    ),
)  # fmt: skip
"""By id; what each expects of its numbers is in `rules/published.py`."""
