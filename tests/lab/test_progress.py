"""What people and programs see of a sweep."""

import io
import json
import re

import pytest
from rich.console import Console

from gnomon.lab.events import Event, Quiet
from gnomon.lab.lossy import Lossy
from gnomon.lab.progress import JsonLines, LiveTable, PlainLines, clock, listener, sentence

TRAIN = Event("a" * 16, "rope", 0, "train", 300, 600, 2.0123, 31_400.0, 24.6)
EVENTS = [
    Event("a" * 16, "rope", 0, "start", 0, 600),
    TRAIN,
    Event("a" * 16, "rope", 0, "measure", 20, 400, 2.0, 90_000.0, 65.0),
    Event("a" * 16, "rope", 0, "finished", 600, 600, 1.9),
    Event("b" * 16, "learned max_positions=64", 0, "failed", 0, 600, reason="learned positions end at 63"),
    Event("c" * 16, "t5", 0, "diverged", 5, 600, reason="the loss is nan at step 5"),
]
PLAN = [Event(letter * 16, label, 0, "queued", 0, 600) for letter, label in zip("abc", ("rope", "learned", "t5"))]


def live(height: int, events: list[Event], plan: list[Event] = PLAN) -> str:
    """The table as it stands after the events, on a terminal of 80 columns."""
    table = LiveTable(Console(file=io.StringIO(), force_terminal=True, width=80, height=height))
    table.begin(plan)
    for event in events:
        table.update(event)
    table.end()
    paper = Console(file=io.StringIO(), width=80, color_system=None)
    paper.print(table.render())
    return paper.file.getvalue()


def test_a_row_fits_eighty_columns_and_shows_its_numbers():
    lines = live(24, EVENTS[:2]).splitlines()
    [row] = [line for line in lines if line.startswith("rope")]
    assert max(map(len, lines)) <= 80
    for shown in ("300/600", "2.012", "31k", "0:25", "train"):
        assert shown in row
    assert lines[-1].startswith("3 runs: 0 done, 1 at work, 2 to come · 0:00, about ")


def test_only_runs_that_finished_are_done():
    events = [Event(event.hash, event.label, 0, phase) for event, phase in zip(PLAN, ("stopped", "failed", "diverged"))]
    assert "3 runs: 0 done, 1 failed, 1 diverged, 1 stopped, 0 at work, 0 to come" in live(24, events)
    events[0] = Event(PLAN[0].hash, "rope", 0, "finished")
    assert "3 runs: 1 done, 1 failed, 1 diverged, 0 at work, 0 to come" in live(24, events)
    plan = [Event("a" * 16, "rope", 0, "stored"), Event("b" * 16, "t5", 0, "diverged", reason="nan"), PLAN[2]]
    assert "3 runs: 1 done, 1 diverged, 0 at work, 1 to come" in live(24, [], plan)


def test_what_a_stopped_run_has_left_is_not_guessed():
    stopped = Event("a" * 16, "rope", 0, "stopped", 0, 600)
    assert " left" not in live(24, [TRAIN, stopped, EVENTS[4]]).splitlines()[-1]


def test_a_long_summary_breaks_between_runs_and_time():
    plan = [Event(f"{i:016x}", f"encoding{i}", i, "queued", 0, 600) for i in range(300)]
    phases = ("finished", "failed", "diverged", "stopped", "train")
    events = [Event(event.hash, event.label, 0, phase, 1, 600) for event, phase in zip(plan, phases)]
    lines = live(12, events, plan).splitlines()
    assert lines[-2].startswith("300 runs: 1 done, 1 failed, 1 diverged, 1 stopped, 1 at work, 295 to come")
    assert lines[-1].strip() == "0:00 (293 not shown)"
    assert len(lines) <= 12 and max(map(len, lines)) <= 80


def seen(output: str, width: int = 80) -> list[str]:
    """The lines that a terminal shows of what was written to it."""
    lines, row, column = [[" "] * width], 0, 0
    for code, text in re.findall(r"\x1b\[[?]?([\d;]*[A-Za-z])|(.)", output, re.DOTALL):
        if code == "2K":
            lines[row] = [" "] * width
        elif code.endswith("A"):
            row -= int(code[:-1])
        elif text == "\r":
            column = 0
        elif text:
            if text == "\n" or column == width:
                row, column = row + 1, 0
                lines += [[" "] * width] if row == len(lines) else []
            if text != "\n":
                lines[row][column] = text
                column += 1
    return ["".join(line).rstrip() for line in lines]


def test_ctrl_c_leaves_no_header_behind():
    """A terminal echoes ^C where the cursor stands, also for someone who presses it twice."""
    console = Console(file=io.StringIO(), force_terminal=True, width=80, height=24)
    table = LiveTable(console)
    table.begin(PLAN)
    table.update(TRAIN)
    for _ in range(2):
        table._live.refresh()
        console.file.write("^C^C")
    table.update(Event("a" * 16, "rope", 0, "stopped", 0, 600))
    table.end()
    lines = seen(console.file.getvalue())
    assert [line.split()[0] for line in lines if line.strip("─ ")] == ["encoding", "rope", "learned", "t5", "3"]
    assert "1 stopped" in " ".join(lines) and "^C" not in " ".join(lines)


def test_runs_that_do_not_fit_are_counted_and_those_at_work_are_shown():
    plan = [Event(f"{i:016x}", f"encoding{i}", i, "queued", 0, 600) for i in range(30)]
    at_work = Event(f"{29:016x}", "encoding29", 29, "train", 300, 600, 2.0, 1e4, 1.0)
    lines = live(12, [at_work], plan).splitlines()
    assert len(lines) <= 12
    assert any(line.startswith("encoding29") for line in lines)
    rows = sum(line.startswith("encoding") and not line.startswith("encoding ") for line in lines)
    assert f"({30 - rows} not shown)" in lines[-1]


def test_plain_lines_say_each_phase_once():
    stream = io.StringIO()
    plain = PlainLines(stream, every=3600)
    plain.begin(PLAN)
    for event in [EVENTS[0], TRAIN, TRAIN, *EVENTS[2:]]:
        plain.update(event)
    assert stream.getvalue().splitlines() == [
        "3 runs, 0 of them already in the store",
        "rope seed 0: starting",
        "rope seed 0: step 300/600, loss 2.012, 31k tokens/s, 0:25 left",
        "rope seed 0: measuring, 20k of 400k tokens, 1:05 left",
        "rope seed 0: finished, 1.900 nats over all test windows",
        "learned max_positions=64 seed 0: failed: learned positions end at 63",
        "t5 seed 0: diverged: the loss is nan at step 5",
    ]


def test_json_lines_give_the_events_back():
    stream = io.StringIO()
    lines = JsonLines(stream)
    lines.begin(PLAN)
    for event in EVENTS:
        lines.update(event)
    assert [Event(**json.loads(line)) for line in stream.getvalue().splitlines()] == [*PLAN, *EVENTS]


def test_the_listener_suits_the_stream():
    stream = io.StringIO()
    kinds = [listener(stream), listener(stream, quiet=True), listener(stream, as_json=True)]
    assert [type(kind) for kind in kinds] == [PlainLines, Quiet, JsonLines]


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (59.6, "1:00"), (3599, "59:59"), (7384, "2:03:04")])
def test_clock(seconds: float, shown: str):
    assert clock(seconds) == shown


def test_every_phase_has_words():
    for phase in ("queued", "waiting", "start", "stored", "stopped"):
        assert sentence(Event("a" * 16, "rope", 3, phase)).startswith("rope seed 3: ")


class Gone(io.StringIO):
    """A stream, perhaps of a terminal, that is gone after some words."""

    def __init__(self, words: int, terminal: bool):
        super().__init__()
        self.words, self.terminal = words, terminal

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        if not self.words:
            raise BrokenPipeError(32, "Broken pipe")
        self.words -= 1
        return super().write(text)


@pytest.mark.parametrize("words", [0, 1, 5])
@pytest.mark.parametrize("how", ["lines", "json", "terminal"])
def test_what_cannot_be_shown_ends_the_showing_and_nothing_else(words: int, how: str):
    told = listener(Gone(words, how == "terminal"), as_json=how == "json")
    told.begin(PLAN)
    for event in EVENTS:
        told.update(event)
    told.end()


def test_a_stream_that_takes_no_more_is_asked_no_more():
    stream = Gone(1, False)
    lossy = Lossy(stream)
    for text in ("one", "two", "three"):
        print(text, file=lossy, end="", flush=True)
        stream.words += text == "two"
    assert stream.getvalue() == "one" and lossy.lost and not lossy.isatty()
    lossy = Lossy(io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    lossy.writelines(["é", "e"])
    lossy.flush()
    assert lossy.buffer.getvalue() == b"e" and not lossy.lost
