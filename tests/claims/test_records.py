"""Records: only under a rule that is committed; and whatever does not fit is told."""

import json

import pytest

from gnomon.claims import records
from gnomon.claims.ledger import entry
from gnomon.errors import OptionError
from tests.claims.repositories import Repository

RULE_OF_ROWS = """from gnomon.claims.claim import Numbers, Verdict

LIMIT = 5


def rule(numbers: Numbers) -> Verdict:
    return Verdict("holds", ", ".join(f"{low} to {high}" for low, high in numbers["size"]))
"""


def test_both_commits_are_told_and_nothing_is_to_be_warned_of(repository):
    claim = repository.claim(5)
    rule = repository.commit("rule.py")
    path = repository.record(claim)
    before = entry(claim, repository.records)
    assert before.record_past.silent == "not in git"
    (told,) = before.warnings
    assert told.startswith("git cannot tell whether the record was edited (not in git)")
    first = repository.commit("results")
    found = entry(claim, repository.records)
    assert (found.verdict.word, found.basis, found.numbers) == ("holds", "record", {"size": 3})
    assert (found.rule.last.hash, found.record_past.first.hash) == (rule, first)
    assert not found.warnings
    held = json.loads(path.read_text())
    assert held["rule_commit"] == rule and held["command"] == "gnomon claims C99 --record"
    assert held["versions"]["torch"]


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
    assert any("does not come before" in warning and "does not say why" in warning for warning in found.warnings)
    assert found.precedes == "not before"
    # Recording anew mends the rule's digest, not the order in which things came.
    repository.record(later)
    repository.commit("results")
    assert ["does not come before" in warning for warning in entry(later, repository.records).warnings] == [True]


def test_a_rule_that_was_corrected_says_why_and_the_ledger_tells_it(repository):
    """Recorded anew under the corrected rule, nothing else is to be warned of."""
    first = repository.claim(5)
    assert entry(first).precedes is None and not first.corrected
    repository.commit("rule.py")
    repository.record(first)
    repository.commit("results")
    assert entry(first, repository.records).precedes == "before"
    later = repository.claim(2, more='CORRECTED = "the limit was that of another size"')
    repository.commit("rule.py")
    found = entry(later, repository.records)
    told = "the rule was corrected after its first record; reason: the limit was that of another size"
    assert found.warnings == (told, "the rule is not the one that the record was made under")
    repository.record(later)
    repository.commit("results")
    found = entry(later, repository.records)
    assert found.warnings == (told,) and found.precedes == "not before"
    assert found.as_dict()["corrected"] == "the limit was that of another size"
    assert found.as_dict()["thresholds"] == {"LIMIT": 2}


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
    repository.commit("results")
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
    repository.edit(path, numbers={"length": 3})
    found = entry(claim, repository.records)
    assert found.verdict.word == "not measured yet" and "C99.json" in found.verdict.because


class Anything:
    """A shape that every value has."""

    def check(self, value, where):
        pass


@pytest.mark.parametrize("size", [[[3, 4, 5]], [3], None, [[3]]])
def test_numbers_of_the_right_shape_that_the_rule_cannot_judge_are_not_measured(repository, size):
    """A rule that takes rows apart raises ValueError over longer ones, TypeError over what is no row."""
    repository.rule_file.write_text(RULE_OF_ROWS)
    repository.size, claim = [[3, 4]], repository.loaded(shape=Anything())
    repository.commit("rule.py")
    path = repository.record(claim)
    assert entry(claim, repository.records).verdict.word == "holds"
    repository.edit(path, numbers={"size": size})
    found = entry(claim, repository.records)
    assert (found.verdict.word, found.basis, found.numbers) == ("not measured yet", "none", None)
