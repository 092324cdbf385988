"""Pairs of the user's own: read, split and drawn; what is wrong with a line is told with its number."""

import json
from pathlib import Path

import pytest
import torch

from gnomon.errors import DataError, OptionError
from gnomon.lab.task import IGNORED
from gnomon.lab.tasks.jsonl import Jsonl, read


def write(path: Path, pairs: list[tuple[str, str]]) -> Path:
    path.write_text("".join(json.dumps({"input": x, "target": y}) + "\n" for x, y in pairs), encoding="utf-8")
    return path


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    """300 sums with inputs of 3 to 5 bytes."""
    return write(tmp_path / "sums.jsonl", [(f"{a}+{b}", str(a + b)) for a in range(0, 60, 3) for b in range(15)])


def pairs(batch) -> list[tuple[bytes, bytes]]:
    found = []
    for inputs, targets in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True):
        answer = [token for token in targets if token != IGNORED]
        assert inputs[0] == 256 and answer[-1] == 258
        found.append((bytes(inputs[1 : inputs.index(257)]), bytes(answer[:-1])))
    return found


def test_pairs_are_read_as_bytes_and_every_one_belongs_to_one_part(sums: Path):
    task = Jsonl(str(sums))
    assert sorted(pair for part in task.parts.values() for pair in part) == sorted(read(sums))
    sizes = task.describe()["pairs"]
    assert sum(sizes.values()) == 300 and 15 <= sizes["test"] <= 45 and 15 <= sizes["validation"] <= 45
    drawn = {pair for step in range(20) for pair in pairs(task.batch(0, step, 32, 4))}
    assert all(eval(x) == int(y) for x, y in drawn)
    assert {len(x) for x, _ in drawn} == {3, 4}
    assert drawn <= set(task.parts["train"])


def test_examples_are_the_lines_of_that_length(sums: Path):
    task = Jsonl(str(sums))
    found = pairs(task.examples("test", 4, 1000))
    assert sorted(found) == sorted(pair for pair in task.parts["test"] if len(pair[0]) == 4)
    assert pairs(task.examples("test", 4, 3)) == found[:3]
    wide = pairs(Jsonl(str(sums), within=2).examples("test", 4, 1000))
    assert {len(x) for x, _ in wide} == {3, 4} and set(found) < set(wide)


def test_equal_lines_lie_together_and_a_new_line_moves_no_other(sums: Path, tmp_path: Path):
    task = Jsonl(str(sums))
    more = write(tmp_path / "more.jsonl", [(f"{a}*2", str(2 * a)) for a in range(50)])
    more.write_bytes(sums.read_bytes() + b"\n" + more.read_bytes() + sums.read_bytes())
    longer = Jsonl(str(more))
    for part, pairs in task.parts.items():
        assert set(pairs) <= set(longer.parts[part])
        assert not any(set(pairs) & set(other) for name, other in longer.parts.items() if name != part)


def test_letters_of_several_bytes(tmp_path: Path):
    task = Jsonl(str(write(tmp_path / "words.jsonl", [("é한" + "x" * n, "ü") for n in range(60)])))
    assert task.shortest == 5
    assert ("é한x".encode(), "ü".encode()) in [pair for part in task.parts.values() for pair in part]


def test_the_chance_is_that_of_the_commonest_target(tmp_path: Path):
    lines = [(f"{n:03}", "yes" if n % 4 else "no") for n in range(400)]
    task = Jsonl(str(write(tmp_path / "yes.jsonl", lines)))
    train = [target for _, target in task.parts["train"]]
    share = train.count(b"yes") / len(train)
    found = task.chance(3)
    assert found.exact == pytest.approx(share)
    # By place: y or n, e or o, s or the end of "no", the end of "yes".
    assert found.token == pytest.approx(4 * share / (4 * share + 3 * (1 - share)))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 3: not JSON"),
        ('["a", "b"]', "line 3: a line has an input and a target"),
        ('{"input": "a"}', "line 3: a line has an input and a target"),
        ('{"input": "a", "target": "b", "id": 1}', "line 3: a line has an input and a target"),
        ('{"input": 1, "target": "b"}', "line 3: input and target are text"),
        ('{"input": "", "target": "b"}', "line 3: input and target are text"),
        ('{"input": "\\ud800", "target": "b"}', "line 3: half a character"),
    ],
)
def test_a_line_that_is_no_pair_is_told_with_its_number(tmp_path: Path, line: str, said: str):
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"input": "a", "target": "b"}\n\n' + line + "\n")
    with pytest.raises(DataError, match=said):
        Jsonl(str(path))


def test_a_file_that_will_not_do_is_refused(tmp_path: Path, sums: Path):
    with pytest.raises(DataError, match="cannot be read"):
        Jsonl(str(tmp_path / "nowhere.jsonl"))
    (tmp_path / "binary").write_bytes(b'{"input": "\xff", "target": "a"}\n')
    with pytest.raises(DataError, match="UTF-8"):
        Jsonl(str(tmp_path / "binary"))
    (tmp_path / "empty").write_bytes(b"\n")
    with pytest.raises(DataError, match="too few pairs"):
        Jsonl(str(tmp_path / "empty"))
    with pytest.raises(DataError, match="within=10"):
        Jsonl(str(sums)).examples("test", 9, 10)
    with pytest.raises(OptionError, match="cannot hold"):
        Jsonl(str(sums)).check_length(2)


def test_a_batch_is_a_function_of_its_arguments(sums: Path):
    one, other = (Jsonl(str(sums)).batch(1, 2, 8, 5) for _ in range(2))
    assert torch.equal(one.inputs, other.inputs)
