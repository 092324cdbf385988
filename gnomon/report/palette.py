"""Colours, dash patterns and markers: a series is told apart by all three, so the figures read without colour."""

from dataclasses import dataclass

DASHES = ([1, 0], [6, 2], [2, 2], [9, 2, 2, 2], [13, 3])
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")


@dataclass(frozen=True)
class Palette:
    """Colours as CSS strings. `series` follows Okabe and Ito, darkened or lightened to at least 3:1 on `paper`."""

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
    series=("#0072b2", "#d55e00", "#00856a", "#b0578d", "#9a6a00", "#3d3d3d", "#6a4c9c", "#2e86c1"),
)
DARK = Palette(
    paper="#15171b",
    ink="#e9e8e3",
    muted="#a3a39b",
    rule="#34373d",
    accent="#ff9b85",
    series=("#56b4e9", "#ff8a4c", "#2cc295", "#e08bc0", "#e6a91e", "#e4e4e4", "#b39cf0", "#8fd3ff"),
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
    """How the series with this index is drawn; the three cycles have coprime lengths, so 280 series differ."""

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
