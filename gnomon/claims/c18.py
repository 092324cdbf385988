"""C18: whether the position-position term of a logit is a function of distance, and RoPE's logit."""

from gnomon.claims import experiments, runs
from gnomon.claims.claim import Claim, Numbers
from gnomon.claims.experiments import Record
from gnomon.claims.rules import c18
from gnomon.claims.shapes import Each, Real, Row, Rows, Text, Whole

WIDTH, PLACES, HEAD = 512, 512, 64
ROPE_PLACES = 32
SEEDS = (0, 1, 2, 3, 4)
SHIFTS = (1, 5, 100, 10_000, 1_000_000, 10_000_000)
SHARE = Real(0, 1 + 1e-9)
"""A share of a variance, and rounding."""
FOUND = Real(0, 1 + 1e-9, none=True)
"""That of a trained model; None of one that has no such term, or did not finish."""
ADDED = ("sinusoidal", "learned")
"""Positions that are added to contents, whose logits have four terms."""


def evidence() -> Numbers:
    """What is known of projections that are drawn, and of RoPE; and the same share under those of trained models."""
    found = experiments.records(runs.TEXT)
    heads = runs.rows(found, *(lambda run, at=at: shares(run)[at] for at in range(4)), of=ADDED)
    return drawn() | {
        "trained": heads,
        "trained_share": [[label, *runs.over_seeds(runs.of(heads, label, 3))] for label in ADDED],
        "sources": experiments.sources(runs.TEXT),
    }


def shares(record: Record) -> list[float | None]:
    """Of a trained first layer, the share of the position-position term that distance explains: the mean, the least and
    the most over heads; and the mean of the share of the logit's variance that the term has."""
    probed = experiments.probe(record, "terms")
    if probed is None:
        return [None] * 4
    found = [head["toeplitz"]["mean"] for head in probed["heads"]]
    of_logit = [head["shares"][3]["mean"] for head in probed["heads"]]
    return [sum(found) / len(found), min(found), max(found), sum(of_logit) / len(of_logit)]


def drawn() -> dict:
    """The share of the term that distance explains, under four kinds of projections, each seed; RoPE's change."""
    import torch

    from gnomon.analysis.forms import vectors, waves
    from gnomon.analysis.projections import projections
    from gnomon.analysis.rope_residual import residual
    from gnomon.analysis.terms import four_terms
    from gnomon.analysis.toeplitz import expected_share, toeplitz_share
    from gnomon.encodings.rope import Rope
    from gnomon.encodings.sinusoidal import Sinusoidal

    p = vectors(Sinusoidal(WIDTH), torch.arange(PLACES))
    nothing = torch.zeros_like(p)

    def shares(kind: str) -> list[float]:
        drawn = (projections(kind, WIDTH, seed, HEAD if kind == "gaussian" else None) for seed in SEEDS)
        return [toeplitz_share(four_terms(nothing, p, *pair).pp) for pair in drawn]

    turns = waves(Rope(HEAD))
    exact = residual(turns, SHIFTS, n=ROPE_PLACES)
    rope = {
        f"rope_{name}": max(residual(turns, SHIFTS, angle, table, n=ROPE_PLACES))
        for name, angle, table in (
            ("float32_from_float64_angles", torch.float64, torch.float32),
            ("bfloat16_from_float64_angles", torch.float64, torch.bfloat16),
            ("float32", torch.float32, torch.float32),
            ("bfloat16", torch.bfloat16, torch.bfloat16),
        )
    }
    return {
        "width": WIDTH,
        "places": PLACES,
        "seeds": list(SEEDS),
        "share_identity": shares("identity")[:1],
        "share_same_rotation": shares("same orthogonal"),
        "share_two_rotations": shares("independent orthogonal"),
        "share_general": shares("gaussian"),
        "share_expected_of_random": expected_share(p),
        "rope_places": ROPE_PLACES,
        "rope_float64": [[shift, change] for shift, change in zip(SHIFTS, exact, strict=True)],
        **rope,
    }


CLAIM = Claim(
    id="C18",
    title="projections break the distance in the logit",
    english="A logit of summed content and position has four terms. Without projections the position-position term "
    "of sinusoidal positions follows distance alone; projections that are neither rotations nor the identity break "
    "it, while RoPE's logit follows distance by construction.",
    korean="내용과 위치를 더한 로짓은 네 항으로 나뉜다. 사영이 없으면 사인파의 위치-위치 항은 거리만의 함수이지만, "
    "회전이나 항등이 아닌 사영이 이를 깨뜨린다. RoPE의 로짓은 구조적으로 거리만을 따른다.",
    document="D2",
    section="2.2",
    question="What share of the position-position term is a function of distance, under no projections, rotations, "
    "general and trained ones; and by how much does RoPE's logit move when all positions shift?",
    evidence=evidence,
    rule=c18.rule,
    cheap=False,
    columns={
        "rope_float64": ("shift", "change of the logit"),
        "trained": (*runs.RUN_COLUMNS, "share of distance", "least head", "most", "of the logit's variance"),
        "trained_share": ("encoding", *runs.INTERVAL_COLUMNS),
        "sources": experiments.SOURCE_COLUMNS,
    },
    shape={
        "width": Whole(1),
        "places": Whole(1),
        "seeds": Each(Whole()),
        "share_identity": Each(SHARE),
        "share_same_rotation": Each(SHARE),
        "share_two_rotations": Each(SHARE),
        "share_general": Each(SHARE),
        "share_expected_of_random": SHARE,
        "rope_places": Whole(1),
        "rope_float64": Rows(Row((Whole(), Real(0)))),
        "rope_float32_from_float64_angles": Real(0),
        "rope_bfloat16_from_float64_angles": Real(0),
        "rope_float32": Real(0),
        "rope_bfloat16": Real(0),
        "trained": Rows(Row((*runs.RUN, FOUND, FOUND, FOUND, runs.MAYBE)), begins=ADDED),
        "trained_share": Rows(runs.spread(Text()), begins=ADDED),
        "sources": experiments.SOURCES,
    },
)
