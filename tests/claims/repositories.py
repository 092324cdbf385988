"""A repository with one rule and one record, as tests of records, of their past and of their damage have it."""

import json
import os
import subprocess
from pathlib import Path
from types import ModuleType

from gnomon.claims import records
from gnomon.claims.claim import Claim
from gnomon.claims.shapes import Shape, Whole

RULE = '''"""A rule."""

from gnomon.claims.claim import Numbers, Verdict

LIMIT = {limit}
{more}


def rule(numbers: Numbers) -> Verdict:
    """Holds up to LIMIT."""
    return Verdict("holds" if numbers["size"] <= LIMIT else "does not hold", f"The size is {{numbers['size']}}.")
'''

SIZE = Whole(most=1000)


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

    def head(self, _: Path) -> str:
        """The commit of the code that makes a record, as if it were in this repository."""
        return self.git("rev-parse", "HEAD")

    def claim(self, limit: int, cheap: bool = False, more: str = "") -> Claim:
        """The claim under a rule with this limit, as it stands in its file, `more` being further lines of it."""
        self.rule_file.write_text(RULE.format(limit=limit, more=more))
        return self.loaded(cheap)

    def loaded(self, cheap: bool = False, shape: Shape = SIZE) -> Claim:
        module = ModuleType("rule")
        # An import takes compiled code for that of a file which has been changed within the same second.
        exec(compile(self.rule_file.read_bytes(), str(self.rule_file), "exec"), vars(module))
        return Claim(
            "C99", "size", "It is small.", "작다.", "D1", "1", "How large?",
            evidence=lambda: {"size": self.size}, rule=module.rule, cheap=cheap,
            shape={"size": shape},
        )  # fmt: skip

    def record(self, claim: Claim) -> Path:
        return records.write(records.make(claim), self.records)

    def edit(self, path: Path, **changes: object) -> None:
        """Other values in a record, as a hand would write them."""
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))
