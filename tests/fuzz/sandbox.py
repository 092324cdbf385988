"""A folder to be attacked: stores of three runs, exported results, texts, pairs, files of code, and odd things.

home/up/work    where commands run; `..` is still within the home
"""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gnomon.lab.exported import export
from gnomon.lab.run import Settings, run
from gnomon.lab.store import Store
from tests.fuzz.watched import Finding, inside
from tests.lab.toys import toy, write_text

PLAN = """from gnomon.lab.experiment import Experiment, Measure, Model, Text, Training

PARTS = dict(
    task=Text("text.txt"),
    model=Model(width=16, depth=1, heads=2),
    training=Training(steps=1, batch=2, length=8),
    measure=Measure(lengths=(8,), bytes=64, pairs=2, targets=2),
)
EXPERIMENTS = [Experiment(name, **PARTS) for name in ("rope", "learned")]
"""

MINE = """from gnomon import Encoding


class Mine(Encoding):
    \"\"\"One of one's own.\"\"\"
"""


@dataclass(frozen=True)
class Sandbox:
    """Where commands are run, and what is taken again once they have changed it."""

    home: Path
    original: Path
    runs: tuple[str, ...]
    """The hashes of the runs of the store: finished, diverged, failed."""

    @property
    def work(self) -> Path:
        return self.home / "up" / "work"

    def reset(self) -> None:
        """All of it as it was made."""
        if self.work.is_dir():
            _reopen(self.home)
            shutil.rmtree(self.home)
        shutil.copytree(self.original, self.work, symlinks=True, copy_function=shutil.copy2)
        _odd(self.work)

    @contextmanager
    def unchanged(self, words: Sequence[str]) -> Iterator[None]:
        """In the folder, with a Finding for whatever changes that no word names; then all of it is as before."""
        before = _content(self.work)
        try:
            with inside(self.work):
                yield
        finally:
            after = _content(self.work)
            changed = [name for name in {**before, **after} if after.get(name) != before.get(name)]
            if after != before:
                self.reset()
        paths = [path for word in words for path in (word, word.partition("=")[2])]
        named = {part for path in paths for part in Path(os.path.normpath(path)).parts[:1]}
        for name in changed:
            if Path(name).parts[0] not in {*named, "runs"}:  # where a store is that nobody names
                raise Finding(f"gnomon {list(words)} has changed {name}")


def make(folder: Path) -> Sandbox:
    """The sandbox in an empty folder; its three runs take some seconds."""
    original = folder / "original"
    original.mkdir(parents=True)
    text = write_text(original, 20_000)
    finished, failing = toy(text, steps=2, lengths=(8, 16)), toy(text, "learned", steps=2, options={"size": 16})
    diverging = toy(text, "alibi", steps=3, learning_rate=1e30, clip=1e30)
    store = Store(original / "toys", create=True)
    for experiment in (finished, diverging):
        run(experiment, store, Settings(command="gnomon compare plan.py", checkpoint_seconds=0.0))
    _failed(failing, store)
    export(store, original / "told")
    (original / "plan.py").write_text(PLAN)
    (original / "mine.py").write_text(MINE)
    (original / "broken.py").write_text("def half(:\n")
    lines = [f'{{"input": "{"x" * (at % 9 + 1)}", "target": "{at}"}}' for at in range(200)]
    (original / "pairs.jsonl").write_text("\n".join(lines))
    (original / "nothing.txt").write_bytes(b"")
    (original / "deep.json").write_text("[" * 100_000)
    made = Sandbox(folder / "home", original, tuple(store.hashes()))
    made.reset()
    return made


def _failed(experiment, store: Store) -> None:
    from gnomon.lab.record import Draft

    draft = Draft(experiment, "gnomon compare plan.py")
    draft.fail(RuntimeError("no <memory> left"))
    with store.claim(experiment.hash):
        draft.write(store)


def _odd(work: Path) -> None:
    """What cannot be copied, or should be made anew."""
    (work / "empty").mkdir()
    (work / "locked").mkdir(mode=0o000)
    os.mkfifo(work / "pipe")
    (work / "loop").symlink_to("loop")
    (work / "dangling").symlink_to("gone/file")
    (work / os.fsdecode(b"\xff.txt")).write_text("a name that is no text\n" * 2000)


def _reopen(home: Path) -> None:
    for folder, names, _ in os.walk(home):
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(0o700)


def _content(work: Path) -> dict[str, tuple]:
    """Name -> kind, size and time of everything in a folder."""
    found = {}
    for folder, folders, files in os.walk(work):
        for name in (*folders, *files):
            path = Path(folder, name)
            told = path.lstat()
            size = (told.st_size, told.st_mtime_ns) if path.is_file() else (0, 0)
            found[str(path.relative_to(work))] = (told.st_mode, *size)
    return found
