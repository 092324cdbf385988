"""Made-up stores in the record format, with numbers like those that small models on text give."""

import hashlib
import json
import math
import random

from gnomon.report.analyses import Analyses, Analysis
from gnomon.section import Heat, Line, Lines, Section, Table, does_not_apply

LENGTHS = (64, 128, 160, 256, 512, 1024)
TRAINING = 128
UNIGRAM = 3.2987
VICIOUS = "</script><script>window.pwned = 1</script> \"q\" 's' & <b>"

# encoding -> (loss in range, rise over the training length at 160, 256, 512, 1024); None is refused
PROFILES = {
    "none": (2.27, (0.07, 0.16, 0.22, 0.25)),
    "learned": (1.90, (None, None, None, None)),
    "sinusoidal": (1.80, (1.54, 1.72, 1.89, 1.96)),
    "t5": (2.01, (0.02, 0.04, 0.05, 0.07)),
    "rope": (1.68, (0.06, 0.47, 1.02, 1.31)),
    "alibi": (1.82, (-0.01, -0.02, -0.02, -0.02)),
    "shaw": (1.73, (0.03, 0.06, 0.12, 0.20)),
    "fire": (1.79, (0.02, 0.05, 0.09, 0.16)),
    "yarn": (1.70, (0.03, 0.05, 0.11, 0.45)),
    "seqpe": (1.88, (0.24, 0.66, 1.12, 1.40)),
}
SIX = ("none", "learned", "sinusoidal", "t5", "rope", "alibi")


def record(
    label,
    seed=0,
    *,
    profile=None,
    status="finished",
    reason=None,
    encoding=None,
    options=None,
    training=TRAINING,
    noise=0.004,
    depth=2,
):
    """One record; `profile` as in PROFILES, by default that of the label."""
    start, rises = profile or PROFILES[label]
    rng = random.Random(f"{label}{seed}")
    experiment = {
        "format": 1,
        "encoding": encoding or label,
        "options": options or {},
        "task": {"kind": "text", "path": None, "digest": "5eed" * 16},
        "model": {
            "width": 128,
            "depth": depth,
            "heads": 4,
            "kv_heads": None,
            "feed_forward": None,
            "dropout": 0.0,
            "tied": True,
            "scale_embeddings": True,
            "backend": "auto",
        },
        "training": {
            "steps": 600,
            "batch": 32,
            "length": training,
            "learning_rate": 0.001,
            "warmup": 0.1,
            "floor": 0.1,
            "weight_decay": 0.1,
            "clip": 1.0,
            "precision": "fp32",
        },
        "measure": {"lengths": list(LENGTHS), "bytes": 131_072, "pairs": 256, "targets": 32, "part": "test"},
        "seed": seed,
    }
    text = json.dumps(experiment | {"label": label}, sort_keys=True, separators=(",", ":"))
    done = status == "finished"
    loss = start + rng.gauss(0, noise * 5)
    rises = [None if rise is None else rise + (rng.gauss(0, noise + 0.05 * abs(rise))) for rise in rises]
    rows = [_row(length, loss, excess, rng) for length, excess in zip(LENGTHS, [0.13, 0.0, *rises])] if done else []
    return {
        "format": 1,
        "hash": hashlib.sha256(text.encode()).hexdigest()[:16],
        "experiment": experiment,
        "label": label,
        "status": status,
        "reason": reason,
        "data": {
            "name": "shakespeare",
            "split": "by play",
            "documents": {"train": 33, "validation": 2, "test": 2},
            "bytes": {"train": 4_800_000, "validation": 240_000, "test": 260_000},
            "test_documents": ["Hamlet", "Twelfth Night"],
            "unigram_loss": {"train": 3.2915, "validation": 3.3021, "test": UNIGRAM},
        },
        "parameters": {"total": 429_312, "encoding": 131_072 if label == "learned" else 128},
        "lengths": rows,
        "cost": {
            "ms_per_step": 148 + rng.uniform(0, 30),
            "tokens_per_second": 27_000.0,
            "train_seconds": 96.0,
            "measure_seconds": 21.0,
            "peak_memory_bytes": 912_000_000 + rng.randrange(40_000_000),
        },
        "environment": {
            "gnomon": "0.1.0",
            "torch": "2.13.0",
            "python": "3.12.3",
            "platform": "Linux-6.1-x86_64",
            "processor": "x86_64",
            "cores": 2,
            "threads": 1,
            "commit": "0123abcd",
            "packages": {"accelerate": "1.10.0", "pyarrow": "21.0.0"},
        },
        "command": "gnomon compare quick",
        "started": "2026-01-05T10:00:00+00:00",
        "finished": "2026-01-05T10:02:00+00:00",
    }


def _row(length, loss, excess, rng):
    if excess is None:
        return {
            "length": length,
            "status": "refused",
            "reason": f"the table ends at position {TRAINING - 1}; length {length} was asked",
        }
    paired = loss + excess
    plain = paired + 0.18 * (TRAINING / length) ** 0.7
    sliding = paired + 0.02
    return {
        "length": length,
        "status": "measured",
        "reason": None,
        "loss": plain,
        "loss_se": 0.011 + rng.uniform(0, 0.003),
        "bits_per_byte": plain / math.log(2),
        "windows": 131_072 // length,
        "tokens": 131_072,
        "paired_loss": paired,
        "paired_se": 0.021,
        "paired_windows": 256,
        "paired_targets": 32,
        "paired_excess": excess,
        "paired_excess_se": 0.0 if excess == 0 else 0.006,
        "sliding_loss": sliding,
        "sliding_perplexity": math.exp(sliding),
        "sliding_stride": length // 2,
    }


def one_seed():
    return [record(label) for label in SIX]


def three_seeds(labels=tuple(PROFILES)):
    return [record(label, seed) for label in labels for seed in range(3)]


def troubled():
    """A diverged and a failed run beside finished ones, and labels that attack the page."""
    return [
        record("rope"),
        record("alibi"),
        record("alibi", 1, status="diverged", reason="loss is not finite at step 212"),
        record("t5", status="failed", reason='RuntimeError: could not <allocate> "memory"'),
        record(VICIOUS, profile=PROFILES["shaw"], encoding="shaw", options={"clip": VICIOUS}),
    ]


def positions(records):
    """hash -> rows as the lab bins them: early positions are worse, and those past the training length as measured."""
    tables = {}
    for run in records:
        rng = random.Random(run["hash"])
        measured = {row["length"]: row for row in run["lengths"] if row["status"] == "measured"}
        rows = []
        for length, entry in measured.items():
            width = max(1, length // 64)
            edges = sorted(
                {*range(min(16, length)), *range(-(-16 // width) * width, length, width), min(TRAINING, length), length}
            )
            for first, end in zip(edges, edges[1:]):
                position = (first + end - 1) / 2
                over = max(0.0, math.log2((position + 1) / TRAINING)) / max(1.0, math.log2(length / TRAINING))
                loss = (
                    measured[TRAINING]["paired_loss"]
                    + 1.6 / (position + 1) ** 0.6
                    + entry["paired_excess"] * min(1.0, 3 * over)
                )
                rows.append(
                    {
                        "length": length,
                        "position": position,
                        "loss": loss + rng.gauss(0, 0.02),
                        "se": 0.02,
                        "windows": entry["windows"],
                        "first": first,
                        "last": end - 1,
                    }
                )
        tables[run["hash"]] = rows
    return tables


def curves(records):
    tables = {}
    for run in records:
        rng, last = random.Random(run["hash"]), run["lengths"] or [{"paired_loss": 2.4}]
        end = last[1]["paired_loss"] if len(last) > 1 else 2.4
        steps = range(10, 601 if run["status"] == "finished" else 212, 10)
        tables[run["hash"]] = [
            {
                "step": step,
                "loss": end + 3.4 * math.exp(-step / 90) + rng.gauss(0, 0.03),
                "learning_rate": 1e-3,
                "tokens_per_second": 27_000.0,
            }
            for step in steps
        ]
        if run["status"] == "diverged":
            tables[run["hash"]].append(
                {"step": 212, "loss": math.nan, "learning_rate": 1e-3, "tokens_per_second": 27_000.0}
            )
    return tables


def portraits(records):
    distance = list(range(0, 513))
    alibi = [[-(2.0 ** -(2 * (head + 1))) * at for at in distance] for head in range(4)]
    angles = [10_000 ** -(index / 16) for index in range(16)]
    rotation = [[sum(math.cos(at * angle) for angle in angles) / 16 for at in distance]]
    buckets = [
        [math.sin(head + 1) - 0.5 * head * min(5, int(math.log2(at + 1))) for at in distance] for head in range(4)
    ]
    random_table = [[1.0 if at == 0 else random.Random(at).gauss(0, 0.09) for at in distance[:TRAINING]]]
    known = {
        "alibi": {"distance": distance, "heads": alibi, "kind": "bias", "title": "number added to the logit"},
        "rope": {
            "distance": distance,
            "heads": rotation,
            "kind": "rotation",
            "title": "expected logit of a query with itself, relative",
        },
        "t5": {"distance": distance, "heads": buckets, "kind": "bias", "title": "number added to the logit"},
        "sinusoidal": {
            "distance": distance,
            "heads": rotation,
            "kind": "absolute",
            "title": "cosine between position 0 and a later one",
        },
        "learned": {
            "distance": distance[:TRAINING],
            "heads": random_table,
            "kind": "absolute",
            "title": "cosine between position 0 and a later one",
        },
    }
    labels = {run["label"] for run in records}
    shown = {label: drawn for label, drawn in known.items() if label in labels}
    if VICIOUS in labels:
        shown[VICIOUS] = known["alibi"] | {"title": VICIOUS}
    return shown


def analyses():
    """What is known of two encodings, their figures under the same keys; the second is told in words that attack."""
    return Analyses(
        (_analysis("rope", "It turns."), _analysis(VICIOUS, VICIOUS)), {"mine": f"an encoding of your own {VICIOUS}"}
    )


def _analysis(label, text):
    lags = range(1, 65)
    line = Lines("By the lag", "lag", "value", (Line(text, lags, [math.cos(lag) for lag in lags]),), note=text)
    matrix = Heat("Pairs", "key", "query", [[math.sin(i - j) for j in range(8)] for i in range(8)], diverging=True)
    table = Table("Lags", ("lag", "value"), ((44, 0.125), (7, None)), text)
    sections = (
        Section("kernel", "The kernel", "What does distance do?", text, (table,), (line, matrix), (text,)),
        Section("fit", "Fits", "What can it be?", text, figures=(line,)),
        does_not_apply("grids", "Grids", "How far is the patch below?", f"no grid: {text}"),
    )
    return Analysis(
        label, "model width 64", sections, {"aliasing": "positions of 2,048 numbers"}, "gnomon analyze rope"
    )
