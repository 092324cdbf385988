"""What a worker says to its sweep, a JSON object a line, and what is made of it on the other side. No torch here.

    {"event": {"hash": ..., "phase": "train", ...}} ... {"end": {"outcome": "written", "error": null}}

An `error` is that of a store that cannot be written: what was asked, given, allowed, and what to do.
"""

import json
from dataclasses import dataclass

from gnomon.errors import StoreError
from gnomon.lab.events import Event, Outcome


@dataclass(frozen=True)
class End:
    """What has become of a run, in the words of its worker, which says nothing after it."""

    outcome: Outcome | None
    """None: the store cannot be written, and `error` says why."""
    error: StoreError | None = None


def encode(said: Event | End) -> str:
    """One line, with its end."""
    return json.dumps({"event": said.to_json()} if isinstance(said, Event) else _end(said), allow_nan=False) + "\n"


def decode(line: str | bytes) -> Event | End:
    """What `encode` has made a line of. ValueError for anything else, such as a line that is cut off."""
    try:
        match json.loads(line):
            case {"event": dict(told)}:
                return Event(**told)
            case {"end": {"outcome": outcome, "error": None}}:
                return End(outcome)
            case {"end": {"outcome": outcome, "error": [asked, given, allowed, do]}}:
                return End(outcome, StoreError(asked, given=given, allowed=allowed, do=do))
    except TypeError as error:
        raise ValueError(f"no event: {error}") from error
    raise ValueError("neither an event nor an end")


def _end(said: End) -> dict:
    error = said.error
    told = None if error is None else [error.asked, error.given, error.allowed, error.do]
    return {"end": {"outcome": said.outcome, "error": told}}
