"""The encoding that the guide to contributors shows keeps every law that it declares, and breaks what it does not."""

import json
import re
import textwrap
from pathlib import Path

GUIDE = Path(__file__).resolve().parent.parent.parent / "CONTRIBUTING.md"


def test_the_example_is_under_the_laws(tmp_path, gnomon):
    [block] = re.findall(r"^( *)```python\n(.*?)^\1```$", GUIDE.read_text(encoding="utf-8"), re.M | re.S)
    file = tmp_path / "yours.py"
    file.write_text(textwrap.dedent(block[1]), encoding="utf-8")
    told = gnomon("laws", f"{file}:Yours", "--json")
    assert told.code == 0, told.err
    checks = json.loads(told.out)
    assert "broken" not in json.dumps(checks).lower()


def test_without_a_word_of_what_it_is_it_breaks_them(tmp_path, gnomon):
    """As the guide says: what is not declared is held against it too."""
    block = re.findall(r"^( *)```python\n(.*?)^\1```$", GUIDE.read_text(encoding="utf-8"), re.M | re.S)[0][1]
    file = tmp_path / "yours.py"
    file.write_text(textwrap.dedent(block).replace(" | Property.CONTENT_FREE", ""), encoding="utf-8")
    assert gnomon("laws", f"{file}:Yours").code == 1
