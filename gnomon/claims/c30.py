"""C30: the fast waves of sinusoidal positions over-fit, and past training their phases combine as never before."""

from typing import Any

from gnomon.claims import experiments, lengths, runs
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.experiments import Record
from gnomon.claims.rules import c30
from gnomon.claims.shapes import Real, Row, Rows, Text, Whole

LABELS = ("sinusoidal", "rope")


def evidence() -> Numbers:
    """What holding bands of frequencies inside their trained range brings, every run; and how many positions past
    training bring a combination of phases that no trained one had."""
    found = experiments.records(runs.TEXT)
    trained, length = lengths.at(found[0], 1, lengths.TWICE)
    columns = (lengths.loss(), lengths.rise(lengths.TWICE), _fast, _slow)
    return {
        "trained_at": trained,
        "length": length,
        "runs": runs.rows(found, *columns, of=LABELS),
        "bands": [row for record in found if record["label"] in LABELS for row in _bands(record)],
        "unseen": unseen(found[0]["experiment"]["model"]["width"], trained),
        "sources": experiments.sources(runs.TEXT),
    }


def unseen(width: int, trained: int) -> list[list[float]]:
    """Of each band, its wavelengths from and to, and the share of the positions from `trained` to twice that whose
    phases lie farther from those of every position before `trained` than neighbours lie from one another."""
    import torch

    from gnomon.encodings.sinusoidal import Sinusoidal
    from gnomon.lab.probes.bands import COUNT
    from gnomon.lab.probes.held import waves
    from gnomon.positions import sequence

    encoding = Sinusoidal(width)
    added = encoding.absolute(sequence(2 * trained))[0]
    every, found = waves(encoding), []
    for at in range(COUNT):
        # As the probe parts them.
        band = every[at * len(every) // COUNT : (at + 1) * len(every) // COUNT]
        phases = added[:, [column for wave in band for column in wave.columns]]
        apart = torch.cdist(phases[trained:], phases[:trained], compute_mode="donot_use_mm_for_euclid_dist")
        near = float((phases[1] - phases[0]).norm())
        share = float((apart.amin(1) > near * (1 + 1e-9)).double().mean())
        found.append([band[0].length, band[-1].length, share])
    return found


def _fast(record: Record) -> float | None:
    """How much the loss past training falls where the fastest band is held."""
    found = experiments.probe(record, "bands")
    return None if found is None else -found["bands"][0]["held"]["mean"]


def _slow(record: Record) -> float | None:
    """How much it falls where all other bands are held: where the fastest alone runs on."""
    found = experiments.probe(record, "bands")
    if found is None:
        return None
    others_held = found["all_held"]["mean"] + found["bands"][0]["alone"]["mean"]
    return found["plain"]["mean"] - others_held


def _bands(record: Record) -> list[list[Any]]:
    found = experiments.probe(record, "bands") or {"bands": ()}
    return [
        [
            record["label"],
            experiments.seed(record),
            band["shortest"],
            band["longest"],
            band["held"]["mean"],
            band["alone"]["mean"],
        ]
        for band in found["bands"]
    ]


CLAIM = Claim(
    id="C30",
    title="high frequencies over-fit",
    english="The fast waves of sinusoidal positions over-fit, and past the training length their phases come in "
    "combinations never seen.",
    korean="사인파 위치의 빠른 파동은 과적합되고, 훈련 길이를 넘으면 위상들이 본 적 없는 조합으로 나타난다.",
    document="D2",
    section="1.2 (1)",
    question="With one band of frequencies at a time held within its trained range, which band carries the loss "
    "past the training length, for sinusoidal positions and for RoPE?",
    evidence=evidence,
    rule=c30.rule,
    cheap=False,
    columns={
        "runs": (
            *lengths.RUN_COLUMNS,
            "rise at twice the length",
            "fall where the fastest band is held",
            "fall where all others are held",
        ),
        "bands": ("encoding", "seed", "wavelength from", "to", "change where held", "change where alone not held"),
        "unseen": ("wavelength from", "to", "share of positions with a new combination"),
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "trained_at": Whole(1),
        "length": Whole(1),
        "runs": Rows(Row((*lengths.RUN, lengths.NATS, lengths.NATS, lengths.NATS)), begins=LABELS),
        "bands": Rows(Row((Text(), Whole(), Real(0), Real(0), Real(), Real()))),
        "unseen": Rows(Row((Real(0), Real(0), Real(0, 1)))),
        "sources": experiments.SOURCES,
    },
)
