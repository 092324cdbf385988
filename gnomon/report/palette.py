"""Colours, dash patterns and markers: a series is told apart by each of the three, so figures read without colour."""

from dataclasses import dataclass

DASHES = (
    [1, 0],
    [6, 2],
    [2, 2],
    [9, 2, 2, 2],
    [13, 3],
    [2, 5],
    [9, 2, 2, 2, 2, 2],
    [6, 6],
    [13, 3, 5, 3],
    [16, 8],
)
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")


@dataclass(frozen=True)
class Palette:
    """Colours as CSS strings; those of `series` have a contrast of at least 3:1 on `paper`.

    The ten of `series` were searched near those of Okabe and Ito for the largest least distance in CIE Lab, as they
    are and as people see them who lack one kind of cone (Machado et al. 2009): at least 14, of the first six 19.
    """

    paper: str
    ink: str
    muted: str
    rule: str
    accent: str
    series: tuple[str, ...]

    def colour(self, index: int) -> str:
        return self.series[index % len(self.series)]

    def variables(self) -> dict[str, str]:
        """CSS custom property -> colour; `VARIABLES` refers to these names."""
        named = {"paper": self.paper, "ink": self.ink, "muted": self.muted, "rule": self.rule, "accent": self.accent}
        return named | {f"s{i}": colour for i, colour in enumerate(self.series)}


LIGHT = Palette(
    paper="#fdfdfb",
    ink="#1c1c1a",
    muted="#5f5f58",
    rule="#dcdcd4",
    accent="#a3341f",
    series=(
        "#115599",
        "#dd6611",
        "#008866",
        "#bb77aa",
        "#774400",
        "#442255",
        "#3377dd",
        "#444433",
        "#660000",
        "#221188",
    ),
)
DARK = Palette(
    paper="#15171b",
    ink="#e9e8e3",
    muted="#a3a39b",
    rule="#34373d",
    accent="#ff9b85",
    series=(
        "#0088dd",
        "#ee7744",
        "#55dd99",
        "#eeaaee",
        "#eeaa11",
        "#eeeeee",
        "#8888bb",
        "#ff4466",
        "#11aa88",
        "#eecc66",
    ),
)

# SVG takes CSS variables where Vega takes colours, so one rendering serves both themes and the switch redraws nothing.
VARIABLES = Palette(
    paper="var(--paper)",
    ink="var(--ink)",
    muted="var(--muted)",
    rule="var(--rule)",
    accent="var(--accent)",
    series=tuple(f"var(--s{i})" for i in range(len(LIGHT.series))),
)


@dataclass(frozen=True)
class Look:
    """How the series with this index is drawn; of ten series, each has its own colour and its own dashes."""

    index: int

    @property
    def hue(self) -> int:
        return self.index % len(LIGHT.series)

    @property
    def dash(self) -> list[int]:
        return DASHES[self.index % len(DASHES)]

    @property
    def shape(self) -> str:
        return SHAPES[self.index % len(SHAPES)]
