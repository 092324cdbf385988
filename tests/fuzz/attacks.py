"""What is attacked, each with what hypothesis makes up for it. An attack raises what it finds."""

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st

from tests.fuzz import code, quick, read, stored, words
from tests.fuzz.sandbox import Sandbox
from tests.fuzz.watched import call, inside


@dataclass(frozen=True)
class Attack:
    """`made`: what is made up. `strike`: what is done with it in a sandbox."""

    made: st.SearchStrategy
    strike: Callable[[Sandbox, object], None]
    examples: int
    """As many as a second or two has room for."""


def command_line(sandbox: Sandbox, line: list[str]) -> None:
    with sandbox.unchanged(line), quick.stopped():
        call(line, sandbox.home)


def surroundings(sandbox: Sandbox, made: tuple[dict[str, str], list[str]]) -> None:
    told, line = made
    with sandbox.unchanged(["new", *line]), inside(sandbox.work), quick.stopped(), quick.environment(told):
        call(line, sandbox.home)


def _without_runs(strike: Callable[[Sandbox, object], None]) -> Callable[[Sandbox, object], None]:
    def struck(sandbox: Sandbox, made: object) -> None:
        with quick.stopped():
            strike(sandbox, made)

    return struck


def _with_runs(strike: Callable[[Sandbox, object], None]) -> Callable[[Sandbox, object], None]:
    def struck(sandbox: Sandbox, made: object) -> None:
        with quick.in_this_process():
            strike(sandbox, made)

    return struck


ATTACKS: dict[str, Attack] = {
    "command lines": Attack(words.lines(), command_line, 12),
    "surroundings": Attack(words.surroundings, surroundings, 4),
    "experiments": Attack(code.files, _without_runs(code.plan), 15),
    "records": Attack(stored.records, _without_runs(stored.record), 4),
    "exported results": Attack(stored.exported, _without_runs(stored.told), 4),
    "files of a store": Attack(stored.files, _without_runs(stored.file), 4),
    "texts": Attack(read.texts, _with_runs(read.text), 4),
    "pairs": Attack(read.pairs, _with_runs(read.jsonl), 4),
}
