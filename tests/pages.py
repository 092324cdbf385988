"""A page for each encoding from its docstring: `python -m tests.pages [STORE]` writes docs/encodings/.

The text is a function of the code, and a test holds it there. With STORE all figures are drawn again, from the trained
encodings that it has (`gnomon compare` fills one); without it those that are missing, from initial values. Their
captions say which.
"""

import inspect
import re
import sys
from pathlib import Path

from gnomon.encoding import Encoding, Property, Shape
from gnomon.encodings import ENCODINGS, build, options_of

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "encodings"
SHAPE = Shape(width=128, heads=4, head_dim=32, depth=2, causal=True)
FACTS = (
    "Positions", "Axes", "Range", "Shapes", "Initial values", "Precision", "Scaling", "Length", "Gradients", "Cost",
    "Errors",
)  # fmt: skip
LABELS = (*FACTS, "Differs", "Use", "Fails", "Source")
"""What a part of a docstring may begin with."""
REQUIRED = ("Positions", "Cost", "Use", "Fails", "Source")
"""What every docstring has."""
LABEL = re.compile(r"(?m)(?:^|(?<=[.!?] ))([A-Z][a-z]+(?: [a-z]+){0,2}):\s")
"""A label, known or not: at most three words before a colon where a line or a sentence begins."""
HEADINGS = {"Use": "When to use it", "Fails": "How it fails"}
LONGEST = 385


def page(name: str, kind: type[Encoding]) -> str:
    """The page of one encoding."""
    told, encoding = sections(kind), build(kind, SHAPE)
    declared = [p.name.lower() for p in Property if p in encoding.properties]
    sizes = f"in {SHAPE.depth} layers of width {SHAPE.width}, {SHAPE.heads} heads of {SHAPE.head_dim}"
    parameters = sum({id(p): p.numel() for layer in encoding.layers(SHAPE.depth) for p in layer.parameters()}.values())
    facts = {
        "acts on": ", ".join(encoding.sites) or "nothing",
        "declares": ", ".join(declared).replace("_", " ") or "nothing",
        "parameters": f"{parameters:,} {sizes}",
        **{label.lower(): told[label] for label in FACTS if label in told},
    }
    parts = [
        f"# {name}\n\n{told['sentence']}\n",
        f"```\n{told['formula']}\n```\n",
        f"![{name} against distance]({name}.svg)\n" if figure_of(name) else "",
        told["body"] + "\n" if told["body"] else "",
        *(f"## {HEADINGS[label]}\n\n{told[label]}\n" for label in ("Use", "Fails") if label in told),
        "## Facts\n\n" + "".join(f"- **{fact}**: {value}\n" for fact, value in facts.items()),
        _options(kind),
        f"## Where it differs from the paper or other code\n\n{told['Differs']}\n" if "Differs" in told else "",
        f"## Source\n\n{told.get('Source', '')}\n\n```bibtex\n{kind.bibtex.strip()}\n```\n" if kind.bibtex else "",
    ]
    return "\n".join(part for part in parts if part)


def sections(kind: type[Encoding]) -> dict[str, str]:
    """A docstring taken apart: its sentence, its formula, what follows, and the parts that begin with a label.

    Labels that are not known are told as well: nothing is taken for the end of the part before.
    """
    blocks = re.split(r"\n\s*\n", inspect.cleandoc(kind.__doc__ or ""))
    sentence, formula, rest = " ".join(blocks[0].split()), blocks[1] if len(blocks) > 1 else "", blocks[2:]
    body, *parts = LABEL.split("\n\n".join(rest))
    labels, bodies = parts[::2], map(_joined, parts[1::2])
    if len({*labels}) < len(labels):
        raise ValueError(f"{kind.__name__} has a label twice: {', '.join(labels)}")
    return {"sentence": sentence, "formula": formula, "body": _joined(body), **dict(zip(labels, bodies, strict=True))}


def _joined(text: str) -> str:
    """Each paragraph on one line."""
    return "\n\n".join(" ".join(block.split()) for block in re.split(r"\n\s*\n", text.strip()))


def index() -> str:
    """The list of all pages."""
    lines = [f"- [{name}]({name}.md): {sections(kind)['sentence']}\n" for name, kind in ENCODINGS.items()]
    head = "# The encodings\n\nWritten from the docstrings by `python -m tests.pages`; a test keeps the text true.\n\n"
    return head + "".join(lines)


def pages() -> dict[str, str]:
    """File name -> text, of every page."""
    return {"README.md": index(), **{f"{name}.md": page(name, kind) for name, kind in ENCODINGS.items()}}


def figure_of(name: str) -> bool:
    """Whether the encoding has a figure: whether there is anything to see."""
    return (FOLDER / f"{name}.svg").is_file()


def _options(kind: type[Encoding]) -> str:
    options = options_of(kind)
    if not options:
        return ""
    rows = "".join(f"| `{name}` | `{value!r}` |\n" for name, value in options.items())
    return f"## Options\n\n| option | default |\n| --- | --- |\n{rows}"


def draw(store: Path | None) -> None:
    """Write the figures: all of them, or without a store those that are missing."""
    import vl_convert

    from gnomon.commands.portraits import portraits
    from gnomon.lab.portrait import portrait
    from gnomon.lab.store import Store
    from gnomon.report.palette import LIGHT
    from gnomon.report.portraits import portrait as chart

    trained = {} if store is None else portraits(Store(store), Store(store).records())
    for order, (name, kind) in enumerate(ENCODINGS.items()):
        if store is None and figure_of(name):
            continue
        drawn, when = trained.get(name), "after `gnomon compare`"
        if drawn is None:
            drawn, when = portrait(build(kind, SHAPE).double(), SHAPE, LONGEST), "at initial values"
        path = FOLDER / f"{name}.svg"
        path.unlink(missing_ok=True)
        if drawn is not None:
            drawn = drawn | {"title": f"{name}: {drawn['title']}, {when.replace('`', '')}"}
            spec = chart(drawn, order % 10, 128, LIGHT, width=520, height=200) | {"background": LIGHT.paper}
            path.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    for file, text in pages().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
