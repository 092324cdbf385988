"""The page as a file: whole, offline, escaped, the same every time."""

import html
import json
import re
from html.parser import HTMLParser

import pytest

from gnomon import report
from gnomon.errors import DataError, OptionError, StoreError
from tests.report import fakes
from tests.report.fakes import VICIOUS, record


class Page(HTMLParser):
    """Tags with their attributes, and the text outside of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.inside = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside.append(tag)

    def handle_endtag(self, tag):
        if tag in self.inside:
            while self.inside.pop() != tag:
                pass

    def handle_data(self, data):
        if not {"script", "style"} & set(self.inside):
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def spec_of(text):
    return json.loads(re.search(r'<script type="application/json" id="specs">(.*?)</script>', text, re.DOTALL)[1])


@pytest.fixture(scope="module", params=["one seed", "three seeds", "troubled", "analysed"])
def text(request, written):
    return written(request.param).read_text(encoding="utf-8")


def test_nothing_in_the_page_comes_from_elsewhere(text):
    loading = ("src", "href", "srcset", "action", "data", "poster", "xlink:href")
    for tag, attributes in Page(text).tags:
        assert not [name for name in attributes if name in loading], tag
        assert tag not in ("link", "iframe", "object", "embed", "img", "base", "form")
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    assert "url(" not in style and "@import" not in style


def test_the_policy_allows_the_inline_blocks_and_nothing_else(text):
    (policy,) = [a["content"] for tag, a in Page(text).tags if tag == "meta" and "http-equiv" in a]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy and "http" not in policy and "*" not in policy
    assert text.index("Content-Security-Policy") < text.index("<style>") < text.index("<script>")


def test_no_style_attributes_and_no_handlers(text):
    for tag, attributes in Page(text).tags:
        assert not [name for name in attributes if name == "style" or name.startswith("on")], tag


def test_the_figures_are_there_without_scripts_too(text):
    pictures = re.findall(r'data-figure="([^"]+)"[^>]*>\s*<svg', text)
    assert set(pictures) == spec_of(text).keys()
    assert {"length", "position", "training"} <= set(pictures)
    assert any(name.startswith("portrait-") for name in pictures)


def test_every_figure_has_a_name_and_a_caption(text):
    page = Page(text)
    ids = {attributes.get("id") for _, attributes in page.tags}
    figures = [attributes for tag, attributes in page.tags if tag == "figure"]
    assert figures and all(attributes["aria-labelledby"] in ids for attributes in figures)
    pictures = [attributes for _, attributes in page.tags if "data-figure" in attributes]
    assert all(attributes["role"] == "img" and attributes["aria-label"] for attributes in pictures)


def test_ids_are_unique(text):
    ids = [attributes["id"] for _, attributes in Page(text).tags if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_it_can_be_mailed(text):
    assert len(text.encode()) < 3_000_000


def test_labels_and_reasons_are_text(written):
    text = written("troubled").read_text(encoding="utf-8")
    assert "<script>window.pwned" not in text
    page = Page(text)
    assert VICIOUS in page.text and 'could not <allocate> "memory"' in page.text
    assert {tag for tag, _ in page.tags}.isdisjoint({"b>", "allocate"})
    assert VICIOUS in [attributes.get("data-label") for _, attributes in page.tags]
    assert VICIOUS in spec_of(text)["length"]["params"][-1]["value"]


def test_the_page_says_what_it_has_to(written):
    words = Page(written("one seed").read_text(encoding="utf-8")).text
    for part in (
        "alibi (1.84 nats per byte in range)",
        "One seed each",
        "gnomon compare quick",
        "training.learning_rate",
        "torch 2.13.0",
        "2 048 windows, 256 paired",
        "≥1024",
        "at most 0.1 nat",
        "standard error",
        "test_documents Hamlet, Twelfth Night",
        f"unigram_loss.test {fakes.UNIGRAM}",
        "the unigram loss, 3.30 nats per byte",
        "perplexity",
    ):
        assert part in words, part
    words = Page(written("troubled").read_text(encoding="utf-8")).text
    assert "loss is not finite at step 212" in words and "Runs that did not finish" in words


def test_what_did_not_learn_is_shown_so(tmp_path):
    runs = [record("alibi"), record("none", profile=(3.4, (0.0,) * 4))]
    words = Page(report.write(runs, tmp_path / "r.html").read_text(encoding="utf-8")).text
    assert words.count("did not learn") >= 3
    for run in runs:
        del run["data"]["unigram_loss"]
    old = Page(report.write(runs, tmp_path / "old.html").read_text(encoding="utf-8")).text
    assert "did not learn" not in old and "unigram" not in old and "≥1024" in old


def test_the_same_records_give_the_same_bytes(written, tmp_path):
    runs = fakes.one_seed()
    again = report.write(
        runs,
        tmp_path / "r.html",
        positions=fakes.positions(runs),
        curves=fakes.curves(runs),
        portraits=fakes.portraits(runs),
    )
    assert again.read_bytes() == written("one seed").read_bytes()


@pytest.mark.parametrize(
    "runs",
    [
        [record("t5", status="failed", reason=None)],
        [record("t5", status="failed") | {"environment": {}, "data": None, "command": "", "finished": None}],
        [record("rope") | {"lengths": [record("rope")["lengths"][1]]}],
        [record("rope"), record("rope", depth=4), record("alibi", training=64)],
    ],
    ids=["all failed", "failed at once", "one length", "mixed settings"],
)
def test_odd_stores(runs, tmp_path):
    text = report.write(runs, tmp_path / "new" / "folder" / "report.html").read_text(encoding="utf-8")
    assert "<h1>" in text and html.unescape(runs[0]["label"]) in text
    assert [name for name in spec_of(text) if name.startswith(("position", "training", "portrait"))] == []


def test_the_command_given_is_the_one_shown(tmp_path):
    text = report.write(
        [record("t5", status="failed")], tmp_path / "r.html", command="gnomon compare <mine>"
    ).read_text()
    assert "gnomon compare &lt;mine&gt;" in text and "gnomon compare quick" not in text


def test_portraits_by_hash_and_none(tmp_path):
    runs = [record("alibi"), record("none")]
    drawn = {runs[0]["hash"]: fakes.portraits(runs)["alibi"], "none": None}
    text = report.write(runs, tmp_path / "r.html", portraits=drawn).read_text(encoding="utf-8")
    assert [name for name in spec_of(text) if name.startswith("portrait")] == ["portrait-0"]


def test_a_portrait_with_a_hole_is_drawn_around_it(tmp_path):
    runs = [record("alibi")]
    drawn = {"alibi": {"distance": [0, 1, 2], "heads": [[0.0, float("-inf"), -2.0]], "kind": "bias", "title": "bias"}}
    assert report.write(runs, tmp_path / "r.html", portraits=drawn).stat().st_size


def test_mistakes(tmp_path):
    with pytest.raises(DataError):
        report.write([], tmp_path / "r.html")
    with pytest.raises(OptionError, match=r"report\.html"):
        report.write(fakes.one_seed(), tmp_path)
    with pytest.raises(StoreError):
        report.write([record("rope") | {"format": 99}], tmp_path / "r.html")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError):
        report.write([record("t5", status="failed")], tmp_path / "file" / "r.html")


def test_where_no_run_finished_nothing_was_measured(tmp_path):
    lost = [record(label, status="failed", reason="out of memory") for label in ("rope", "alibi")]
    shown = Page(report.write(lost, tmp_path / "lost.html").read_text(encoding="utf-8")).text
    assert "Nothing was measured: no run finished" in shown and "out of memory" in shown
    assert "per token" not in shown and "Results by encoding" not in shown


def test_an_experiment_need_not_say_how_it_was_measured(tmp_path):
    run = record("rope")
    del run["experiment"]["measure"]["pairs"]
    text = report.write([run], tmp_path / "report.html").read_text(encoding="utf-8")
    assert "The same targets are scored at every length" in Page(text).text
