"""Files that are there whole or not at all, in place of what they replace."""

import os
from pathlib import Path

import pytest

from gnomon.errors import StoreError
from gnomon.lab.experiment import Experiment, Text
from gnomon.lab.files import replace_file


def test_a_link_leads_to_what_is_replaced(tmp_path: Path):
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "report.html", tmp_path / "link.html"
    target.write_text("old")
    link.symlink_to(target)
    replace_file(link, lambda file: file.write_text("new"))
    assert link.is_symlink() and target.read_text() == "new" and os.listdir(tmp_path / "real") == ["report.html"]


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_only_files_are_replaced(make, tmp_path: Path):
    path = tmp_path / "there"
    make(path)
    with pytest.raises(StoreError, match="only a file"):
        replace_file(path, lambda file: file.write_text("new"))
    assert path.exists() and not path.is_file() and os.listdir(tmp_path) == ["there"]


def test_an_experiment_may_name_a_file_that_no_text_can():
    experiment = Experiment("rope", task=Text("caf\udce9.txt", digest="0" * 64))
    assert Experiment.from_json(experiment.to_json()).hash == experiment.hash
