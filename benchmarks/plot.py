"""A line plot as SVG, by hand: no library is needed to look at a figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 640, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 36, 44, 52
_COLOURS = (
    "#1f5fa8", "#c4501b", "#2d7d46", "#7a4a9e", "#8a6d1a", "#b0305c", "#3c8f99", "#5b5b5b",
    "#a0742d", "#4d6fd0", "#6f8f2d", "#94527a",
)  # fmt: skip
_COLUMNS = 3
_STYLE = (
    "text{font:12px sans-serif;fill:#333}.t{font-size:15px;font-weight:bold}"
    ".g{stroke:#ddd}.a{stroke:#666}.l{fill:none;stroke-width:2}"
)

Series = Mapping[str, Sequence[tuple[float, float]]]


@dataclass(frozen=True, slots=True)
class Plot:
    """Series of points: name → (x, y). ``even``: each x value has a place of its own, all equally
    far apart. y begins at zero."""

    title: str
    x_label: str
    y_label: str
    series: Series
    even: bool = False

    def svg(self) -> str:
        """The picture."""
        xs = sorted({x for points in self.series.values() for x, _ in points})
        top = _nice_top(max(y for points in self.series.values() for _, y in points))
        place = self._places(xs)
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}"'
            f' height="{_HEIGHT + self._legend_height()}" role="img">',
            f"<title>{escape(self.title)}</title><style>{_STYLE}</style>",
            '<rect width="100%" height="100%" fill="#fff"/>',
            f'<text class="t" x="{_LEFT}" y="26">{escape(self.title)}</text>',
        ]
        parts += self._grid(top, xs, place)
        for number, (name, points) in enumerate(self.series.items()):
            spots = [(place(x), _y(y, top)) for x, y in sorted(points)]
            parts += self._line(number, name, spots)
        parts.append("</svg>")
        return "\n".join(parts) + "\n"

    def _places(self, xs: list[float]) -> _Scale:
        if self.even:
            return _Scale(0, max(len(xs) - 1, 1), {x: float(n) for n, x in enumerate(xs)})
        return _Scale(min(0, xs[0]), xs[-1], {x: x for x in xs})

    def _grid(self, top: float, xs: list[float], place: _Scale) -> list[str]:
        right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        parts = []
        for n in range(5):
            value = top * n / 4
            y = _y(value, top)
            parts.append(f'<path class="g" d="M{_LEFT} {y:.1f}H{right}"/>')
            parts.append(
                f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_number(value)}</text>'
            )
        for x in xs if len(xs) <= 8 else xs[:: -(-len(xs) // 8)]:
            parts.append(
                f'<text x="{place(x):.1f}" y="{bottom + 18}" text-anchor="middle">'
                f"{_number(x)}</text>"
            )
        middle = (_LEFT + right) / 2
        parts += [
            f'<path class="a" d="M{_LEFT} {bottom}H{right}"/>',
            f'<text x="{middle:.0f}" y="{bottom + 38}" text-anchor="middle">'
            f"{escape(self.x_label)}</text>",
            f'<text transform="translate(16 {(_TOP + bottom) / 2:.0f}) rotate(-90)"'
            f' text-anchor="middle">{escape(self.y_label)}</text>',
        ]
        return parts

    def _line(self, number: int, name: str, spots: list[tuple[float, float]]) -> list[str]:
        colour = _COLOURS[number % len(_COLOURS)]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in spots)
        pen = f'class="l" stroke="{colour}"'
        if number >= len(_COLOURS):
            pen += ' stroke-dasharray="5 3"'
        parts = [f'<path {pen} d="M{path}"/>']
        if len(spots) <= 20:
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>'
                      for x, y in spots]  # fmt: skip
        if len(self.series) > 1:
            x, y = _LEFT + number % _COLUMNS * 185, _HEIGHT + number // _COLUMNS * 18
            parts.append(
                f'<path {pen} d="M{x} {y}h18"/><text x="{x + 24}" y="{y + 4}">{escape(name)}</text>'
            )
        return parts

    def _legend_height(self) -> int:
        return 18 * -(-len(self.series) // _COLUMNS) if len(self.series) > 1 else 0


@dataclass(frozen=True, slots=True)
class _Scale:
    low: float
    high: float
    spots: dict[float, float]

    def __call__(self, x: float) -> float:
        share = (self.spots[x] - self.low) / ((self.high - self.low) or 1)
        return _LEFT + 8 + share * (_WIDTH - _LEFT - _RIGHT - 16)


def _y(value: float, top: float) -> float:
    return _HEIGHT - _BOTTOM - value / top * (_HEIGHT - _TOP - _BOTTOM)


def _nice_top(value: float) -> float:
    """The next round number above."""
    if value <= 0:
        return 1.0
    step = 10.0 ** math.floor(math.log10(value))
    return next(f * step for f in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 6, 8, 10) if f * step >= value)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"
