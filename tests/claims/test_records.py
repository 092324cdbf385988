"""Records: only under a rule that is committed; and whatever does not fit is told."""

import importlib.util
import json
import os
import subprocess
from pathlib import Path

import pytest

from gnomon.claims import records
from gnomon.claims.claim import Claim
from gnomon.claims.ledger import entry
from gnomon.errors import OptionError, StoreError

RULE = '''"""A rule."""

from gnomon.claims.claim import Numbers, Verdict

LIMIT = {limit}


def rule(numbers: Numbers) -> Verdict:
    """Holds up to LIMIT."""
    return Verdict("holds" if numbers["size"] <= LIMIT else "does not hold", f"The size is {{numbers['size']}}.")
'''


class Repository:
    """A repository with one rule, and records beside it."""

    def __init__(self, folder: Path):
        self.folder, self.rule_file, self.records = folder, folder / "rule.py", folder / "results"
        self.size = 3

    def git(self, *arguments: str) -> str:
        who = {
            f"GIT_{role}_{what}": "someone@example.org"
            for role in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        command = ["git", "-C", str(self.folder), *arguments]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | who)
        return done.stdout.strip()

    def commit(self, *files: str) -> str:
        self.git("add", *files)
        self.git("commit", "-q", "-m", "a commit")
        return self.git("rev-parse", "HEAD")

    def claim(self, limit: int, cheap: bool = False) -> Claim:
        """The claim under a rule with this limit, as it stands in its file."""
        self.rule_file.write_text(RULE.format(limit=limit))
        return self.loaded(cheap)

    def loaded(self, cheap: bool = False) -> Claim:
        spec = importlib.util.spec_from_file_location("rule", self.rule_file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return Claim(
            "C99", "size", "It is small.", "작다.", "D1", "1", "How large?",
            evidence=lambda: {"size": self.size}, rule=module.rule, cheap=cheap,
        )  # fmt: skip

    def record(self, claim: Claim) -> Path:
        return records.write(records.make(claim), self.records)


@pytest.fixture
def repository(tmp_path):
    made = Repository(tmp_path)
    made.git("init", "-q")
    return made


def test_both_commits_are_told_and_nothing_is_to_be_warned_of(repository):
    claim = repository.claim(5)
    rule = repository.commit("rule.py")
    path = repository.record(claim)
    before = entry(claim, repository.records)
    assert before.record_past.silent == "not in git" and not before.warnings
    first = repository.commit("results")
    found = entry(claim, repository.records)
    assert (found.verdict.word, found.basis, found.numbers) == ("holds", "record", {"size": 3})
    assert (found.rule.last.hash, found.record_past.first.hash) == (rule, first)
    assert not found.warnings
    held = json.loads(path.read_text())
    assert held["rule_commit"] == rule and held["command"] == "gnomon claims C99 --record"
    assert held["versions"]["torch"]


def test_the_record_is_read_and_not_found_again(repository):
    claim = repository.claim(5)
    repository.commit("rule.py")
    path = repository.record(claim)
    path.write_text(path.read_text().replace('"size": 3', '"size": 30'))
    found = entry(claim, repository.records)
    assert (found.verdict.word, found.verdict.because) == ("does not hold", "The size is 30.")


def test_a_rule_that_git_does_not_have_is_refused(repository):
    claim = repository.claim(5)
    with pytest.raises(OptionError, match="not in git"):
        repository.record(claim)
    assert not repository.records.exists()


def test_a_rule_with_changes_is_refused(repository):
    repository.claim(5)
    repository.commit("rule.py")
    changed = repository.claim(2)
    with pytest.raises(OptionError, match="not committed"):
        repository.record(changed)
    repository.git("add", "rule.py")
    with pytest.raises(OptionError, match="not committed"):
        repository.record(changed)


def test_a_rule_that_was_changed_after_its_record_is_told(repository):
    claim = repository.claim(5)
    repository.commit("rule.py")
    repository.record(claim)
    repository.commit("results")
    later = repository.claim(2)
    found = entry(later, repository.records)
    assert found.verdict.word == "does not hold"
    assert any("not committed" in warning for warning in found.warnings)
    assert any("not the one" in warning for warning in found.warnings)
    repository.commit("rule.py")
    found = entry(later, repository.records)
    assert any("does not come before" in warning for warning in found.warnings)
    # Recording anew mends the rule's digest, not the order in which things came.
    repository.record(later)
    repository.commit("results")
    assert ["does not come before" in warning for warning in entry(later, repository.records).warnings] == [True]


def test_a_rule_that_comes_with_its_record_does_not_come_before_it(repository):
    claim = repository.claim(5)
    repository.commit("rule.py")
    path = repository.record(claim)
    other = repository.claim(5)
    repository.rule_file.write_text(repository.rule_file.read_text() + "\n# other\n")
    repository.git("add", "rule.py", str(path))
    repository.commit("rule.py")
    assert any("does not come before" in warning for warning in entry(other, repository.records).warnings)


def test_no_record_and_not_cheap_is_not_measured_yet(repository):
    claim = repository.claim(5)
    found = entry(claim, repository.folder)
    assert (found.verdict.word, found.basis) == ("not measured yet", "none")
    assert "gnomon claims C99 --record" in found.verdict.because


def test_a_cheap_claim_is_found_anew_and_told_where_its_record_differs(repository):
    claim = repository.claim(5, cheap=True)
    repository.commit("rule.py")
    repository.record(claim)
    assert not entry(claim, repository.records).warnings
    repository.size = 30
    found = entry(claim, repository.records)
    assert (found.basis, found.verdict.word) == ("computed", "does not hold")
    assert any("another verdict: holds" in warning for warning in found.warnings)


def test_without_git_it_says_so(tmp_path):
    claim = Repository(tmp_path).claim(5, cheap=True)
    found = entry(claim)
    assert found.rule.silent == "no git" and found.rule.last is None
    assert found.verdict.word == "holds"
    with pytest.raises(OptionError, match="no git"):
        records.make(claim)


def test_a_shallow_clone_does_not_pass_for_a_history(repository, tmp_path_factory):
    repository.claim(5)
    repository.commit("rule.py")
    repository.git("commit", "-q", "--allow-empty", "-m", "another")
    copy = Repository(tmp_path_factory.mktemp("clone") / "copy")
    repository.git("clone", "-q", "--depth", "1", repository.folder.as_uri(), str(copy.folder))
    assert entry(copy.loaded(cheap=True)).rule.silent == "shallow clone"
    with pytest.raises(OptionError, match="shallow clone"):
        copy.record(copy.loaded())


def test_a_record_without_the_numbers_of_its_rule_is_not_measured(repository):
    claim = repository.claim(5)
    repository.commit("rule.py")
    path = repository.record(claim)
    path.write_text(path.read_text().replace('"size"', '"length"'))
    found = entry(claim, repository.records)
    assert found.verdict.word == "not measured yet" and "C99.json" in found.verdict.because


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"id": "C98"}'])
def test_what_is_no_record_is_refused(repository, text):
    claim = repository.claim(5)
    repository.records.mkdir()
    (repository.records / "C99.json").write_text(text)
    with pytest.raises(StoreError, match=r"C99\.json"):
        entry(claim, repository.records)
