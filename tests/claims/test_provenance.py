"""Whether a record is what was found: an edit is seen, committed or not, with a digest made anew or not."""

import json
from dataclasses import asdict, replace

import pytest

from gnomon.claims import CLAIMS, records
from gnomon.claims.ledger import entry
from gnomon.report import ledger


@pytest.fixture
def recorded(repository):
    """A rule, its record, and the repository, all committed."""
    claim = repository.claim(5)
    repository.commit("rule.py")
    path = repository.record(claim)
    repository.commit("results")
    return repository, claim, path


def warnings(repository, claim) -> str:
    return " / ".join(entry(claim, repository.records).warnings)


def forge(path, **changes):
    """Another record in place of this one, with a digest that fits it."""
    held = replace(records.read("C99", path.parent)[0], **changes)
    path.write_text(json.dumps(asdict(held) | {"sha256": records.sealed(held)}, indent=2))


def test_a_record_made_again_and_committed_is_not_warned_of(recorded):
    """Also where the numbers are others now, and where nothing but the layout of the file is."""
    repository, claim, path = recorded
    assert not warnings(repository, claim)
    repository.size = 4
    repository.record(claim)
    assert "changes that are not committed" in warnings(repository, claim)
    repository.commit("results")
    assert not warnings(repository, claim)
    path.write_text(json.dumps(json.loads(path.read_text()), indent=1) + "\r\n")
    repository.commit("results")
    assert not warnings(repository, claim)


@pytest.mark.parametrize("committed", [False, True])
def test_an_edit_of_numbers_is_told(recorded, committed):
    repository, claim, path = recorded
    repository.edit(path, numbers={"size": 30})
    if committed:
        repository.commit("results")
    found = entry(claim, repository.records)
    assert found.verdict.because == "The size is 30."
    assert any("its digest is not that of what it says" in warning for warning in found.warnings)
    assert found.as_dict()["warnings"] == list(found.warnings)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("recorded_at", "2020-01-01T00:00:00+00:00"),
        ("command", "gnomon claims C98 --record"),
        ("commit", "a" * 40),
        ("rule_file", "other.py"),
        ("rule_commit", "a" * 40),
        ("versions", {"torch": "9"}),
    ],
)
def test_an_edit_of_what_else_a_record_says_is_told(recorded, name, value):
    repository, claim, path = recorded
    repository.edit(path, **{name: value})
    repository.commit("results")
    assert "its digest is not that of what it says" in warnings(repository, claim)


def test_an_edit_with_a_digest_that_fits_is_told_by_git(recorded):
    repository, claim, path = recorded
    made = repository.git("rev-parse", "HEAD")
    forge(path, numbers={"size": 30})
    assert warnings(repository, claim) == "the record in results/C99.json has changes that are not committed"
    now = repository.commit("results")
    told = warnings(repository, claim)
    assert told.startswith("the record was edited after it was made: ")
    assert f"{made[:7]} has it as it was committed first, {now[:7]} as it is now" in told
    assert "`gnomon claims C99 --record`" in told


def test_a_number_of_another_kind_is_an_edit(recorded):
    """3 and 3.0 are equal in Python, and no rule has to take them alike."""
    repository, claim, path = recorded
    forge(path, numbers={"size": 3.0})
    assert "changes that are not committed" in warnings(repository, claim)
    repository.commit("results")
    assert "was edited after it was made" in warnings(repository, claim)


def test_an_edit_that_git_was_told_to_overlook_is_told(recorded):
    repository, claim, path = recorded
    repository.git("update-index", "--assume-unchanged", "results/C99.json")
    forge(path, numbers={"size": 30})
    assert "changes that are not committed" in warnings(repository, claim)


def test_a_record_that_was_removed_and_came_back_other_is_told(recorded):
    repository, claim, path = recorded
    forge(path, numbers={"size": 30})
    text = path.read_text()
    repository.git("rm", "-q", "-f", "--cached", "results/C99.json")
    repository.git("commit", "-q", "-m", "remove")
    path.write_text(text)
    repository.commit("results")
    assert "was edited after it was made" in warnings(repository, claim)


def test_an_edit_that_was_taken_back_is_none(recorded):
    repository, claim, path = recorded
    before = path.read_text()
    forge(path, numbers={"size": 30})
    repository.commit("results")
    path.write_text(before)
    repository.commit("results")
    assert not warnings(repository, claim)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"commit": None}, "names no commit"),
        ({"commit": "a" * 40}, "which is not in this repository"),
        ({"rule_commit": "a" * 40}, "git has another rule in rule.py"),
        ({"rule_sha256": "b" * 64}, "git has another rule in rule.py"),
        ({"rule_file": "other.py"}, "git has another rule in other.py"),
    ],
)
def test_a_forged_record_names_commits_that_history_does_not_bear_out(recorded, changes, told):
    """Another time passes for another recording; what it names has to be there all the same."""
    repository, claim, path = recorded
    forge(path, recorded_at="2020-01-01T00:00:00+00:00", **changes)
    repository.commit("results")
    assert told in warnings(repository, claim)


def test_the_commit_of_the_code_comes_before_that_of_the_record(recorded):
    repository, claim, path = recorded
    repository.git("checkout", "-q", "-b", "aside")
    repository.git("commit", "-q", "--allow-empty", "-m", "aside")
    aside = repository.git("rev-parse", "HEAD")
    repository.git("checkout", "-q", "-")
    forge(path, recorded_at="2020-01-01T00:00:00+00:00", commit=aside)
    repository.commit("results")
    assert f"names {aside[:7]} as the commit of the code, which does not come before" in warnings(repository, claim)


def test_a_rule_other_than_that_of_its_commit_is_told(recorded):
    """A rule that was changed between the commit that the record names and the code that it names."""
    repository, _, path = recorded
    later = repository.claim(2)
    repository.commit("rule.py")
    forge(path, recorded_at="2020-01-01T00:00:00+00:00", commit=repository.git("rev-parse", "HEAD"))
    repository.commit("results")
    assert "git has another rule in rule.py" in warnings(repository, later)


def test_a_record_without_a_digest_is_read_and_told(recorded):
    repository, claim, path = recorded
    held = json.loads(path.read_text())
    del held["sha256"]
    path.write_text(json.dumps(held))
    repository.commit("results")
    found = entry(claim, repository.records)
    assert found.verdict.word == "holds" and "has no digest" in " ".join(found.warnings)


def test_a_record_outside_git_says_how_to_find_its_numbers_again(recorded, tmp_path_factory):
    _, claim, path = recorded
    folder = tmp_path_factory.mktemp("outside")
    (folder / path.name).write_text(path.read_text())
    (told,) = entry(claim, folder).warnings
    assert told.startswith("git cannot tell whether the record was edited (no git)")
    assert "`gnomon claims C99 --record`" in told


def test_a_shallow_clone_cannot_tell(recorded, tmp_path_factory):
    repository, claim, _ = recorded
    copy = tmp_path_factory.mktemp("clone") / "copy"
    repository.git("clone", "-q", "--depth", "1", repository.folder.as_uri(), str(copy))
    assert "git cannot tell whether the record was edited (shallow clone)" in " ".join(
        entry(claim, copy / "results").warnings
    )


def test_a_claim_that_is_found_anew_is_told_of_its_record_too(repository):
    claim = repository.claim(5, cheap=True)
    repository.commit("rule.py")
    path = repository.record(claim)
    repository.commit("results")
    repository.edit(path, numbers={"size": 4})
    repository.commit("results")
    assert entry(claim, repository.records).verdict.because == "The size is 3."
    assert "its digest is not that of what it says" in warnings(repository, claim)


def test_the_command_and_the_page_tell_it(gnomon, recorded, tmp_path, monkeypatch):
    """On the terminal, with -v, in JSON and on the page."""
    repository, claim, path = recorded
    monkeypatch.setitem(CLAIMS, "C99", claim)
    repository.edit(path, numbers={"size": 30})
    asked = ("claims", "C99", "--records", str(repository.records))
    said = "the record was edited: its digest is not that of what it says"
    for more in ((), ("-v",)):
        told = gnomon(*asked, *more)
        assert told.code == 0 and said in " ".join(told.out.split())
    (shown,) = json.loads(gnomon(*asked, "--json").out)
    assert any(warning.startswith(said) for warning in shown["warnings"])
    out = tmp_path / "page.html"
    assert gnomon(*asked, "--out", str(out)).code == 0
    assert said in out.read_text(encoding="utf-8")
    assert said in ledger.write(
        [entry(claim, repository.records)], tmp_path / "other.html", command="gnomon claims"
    ).read_text(encoding="utf-8")
