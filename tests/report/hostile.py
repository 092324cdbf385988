"""Text that would be code on a careless page, in every place where a record, a portrait or an analysis has text."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from tests.report import fakes
from tests.report.test_answers import record as answered

MARK = "window.pwned"
PIECES = (
    f"</script><script>{MARK}=1</script>",
    f"<img src=x onerror={MARK}=1>",
    f'" onmouseover="{MARK}=1" autofocus onfocus="{MARK}=1',
    f"' onclick='{MARK}=1",
    f"</style></title></textarea><svg onload={MARK}=1>",
    f"<!--<script>{MARK}=1--></script> ]]>",
    f"javascript:{MARK}=1",
    f"data:text/html,<script>{MARK}=1</script>",
    f"&lt;script&gt;{MARK}=1&lt;/script&gt; &amp;quot; &#60;",
    f"{{{{ {MARK} }}}} {{% raw %}} ${{{MARK}}} `",
    f"\u2028{MARK}=1\u2029\u0085 \u202eright to left",
    f"\\u003cscript\\u003e{MARK}=1 \\x3c \\",
    f"a.b[0]['{MARK}']\\.c datum.label",
    f"\x00\x07\x1b[31m{MARK}\x7f\ufeff\ufffe",
    f"half a letter \ud83d {MARK} \udcff",
    f"line\nbreak\r\n\t{MARK}",
)
"""Each names MARK, which nothing may set."""
WORDS = tuple("   ".join(PIECES[at::2]) for at in range(2))
"""All of them, in few texts: each figure takes its time."""
PLAIN = tuple(f"word{at}" for at in range(len(WORDS)))

KEPT = {"kind", "status", "part", "digest", "hash", "format", "encoding", "started", "finished", "backend", "precision"}
"""What is no text but a name that is known, or made by gnomon alone. The encoding is spoilt apart from these."""


def spoilt(value: Any, word: str) -> Any:
    """A copy of a record, or a part of one, with the word in place of all its text, and in names that are free."""
    if isinstance(value, str):
        return word
    if isinstance(value, list | tuple):
        return type(value)(spoilt(item, word) for item in value)
    if isinstance(value, Mapping):
        return {name: inner if name in KEPT else spoilt(inner, word) for name, inner in value.items()}
    if is_dataclass(value):
        told = {field.name: getattr(value, field.name) for field in fields(value) if field.name not in KEPT | {"key"}}
        return replace(value, **{name: spoilt(inner, word) for name, inner in told.items()})
    return value


def records(words: tuple[str, ...]) -> list[dict]:
    """Runs of text and of tasks: finished, diverged, failed, refused, tuned, read otherwise; a word is all they say."""
    found = []
    for at, word in enumerate(words):
        made = [
            fakes.record("shaw", seed=at, options={"clip": word, "more": [word]}),
            fakes.record("rope", seed=at, status=("failed", "diverged")[at % 2], reason=word),
            answered("alibi", (1, 0.96, None, 0.1), at, groups=((word, True), (f"{word}.", False))),
        ]
        for run in made:
            run["experiment"]["encoding"] = f"{word}.py:{word}"
            run["experiment"]["task"] |= {"path": word, "name": word, "options": {word: word, "x": word}}
            run["environment"] |= {word: word, "packages": {word: word}}
            run["data"] = (run["data"] or {}) | {word: word, "test_documents": [word] * 3}
            run["variants"] = [{"options": {word: word}, "lengths": run["lengths"]}]
            found.append(spoilt(run, word) | {"label": word})
    return found


def trials(runs: list[dict]) -> list[dict]:
    """Of each, at two rates, with another seed."""
    return [
        run | {"experiment": experiment | {"seed": 1000, "training": experiment["training"] | {"learning_rate": rate}}}
        for run in runs
        for experiment in [run["experiment"]]
        for rate in (1e-3, 3e-3)
    ]


def portraits(runs: list[dict], words: tuple[str, ...]) -> dict[str, dict]:
    drawn = {"distance": list(range(33)), "heads": [[0.5 * at for at in range(33)]] * 2, "kind": "bias"}
    return {run["hash"]: drawn | {"title": word} for run, word in zip(runs[::3], words, strict=True)}


def analyses(words: tuple[str, ...]) -> Any:
    """An analysis of each word, all of whose text is that word."""
    made = fakes.analyses()
    found = tuple(spoilt(made.found[0], word) for word in words)
    return type(made)(found, {f"{word} mine": word for word in words})
