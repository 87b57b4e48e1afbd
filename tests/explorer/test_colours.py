"""Colours can be read and told apart, in the light and in the dark."""

from itertools import combinations
from math import dist

import pytest
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from explorer.pages.chain_marks import HUES, KNOWN

pytestmark = [pytest.mark.browser, pytest.mark.either_database]

Colour = tuple[float, float, float]  # red, green and blue, of linear light

TEXTS = ("ink", "faded", "accent", "proven", "moving", "waiting", "rejected", "string", "keyword")
GROUNDS = ("paper", "sheet", "wash")
# As the colour-blind see them (Machado, Oliveira and Fernandes, 2009).
WITHOUT_RED = ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052))
WITHOUT_GREEN = ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969))
ALL_CONES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
# OKLab (Ottosson, 2020), in which equal distances look equal.
TO_CONES = ((0.4122, 0.5363, 0.0514), (0.2119, 0.6807, 0.1074), (0.0883, 0.2817, 0.63))
TO_LAB = ((0.2105, 0.7936, -0.0041), (1.978, -2.4286, 0.4506), (0.0259, 0.7828, -0.8087))
PAINTED = """([names, hues]) => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const bytes = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  };
  const text = document.body.appendChild(document.createElement("span"));
  const mark = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  document.body.append(mark);
  const variable = (name) => {
    text.style.color = `var(--${name})`;
    return bytes(getComputedStyle(text).color);
  };
  const chain = (hue) => {
    mark.setAttribute("class", `chain hue-${hue}`);
    return bytes(getComputedStyle(mark).fill);
  };
  return [names.map(variable), Array.from({length: hues}, (_, hue) => chain(hue))];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_edges_and_chains_have_contrast(
    page: Page, live_server: LiveServer, scheme: str
) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(f"{live_server.url}/sign-in")
    names = (*TEXTS, *GROUNDS, "edge", "fill", "on-fill")
    painted, chains = page.evaluate(PAINTED, [names, HUES])
    colours = {name: _linear(colour) for name, colour in zip(names, painted, strict=True)}
    hues = [_linear(colour) for colour in chains]
    grounds = [colours[name] for name in GROUNDS]
    assert min(_contrast(colours[text], ground) for text in TEXTS for ground in grounds) > 4.5
    assert _contrast(colours["on-fill"], colours["fill"]) > 4.5
    shapes = (colours["edge"], colours["fill"], *hues)
    assert min(_contrast(shape, ground) for shape in shapes for ground in grounds[:2]) > 3
    neighbours = list(zip(hues, hues[1:] + hues[:1], strict=True))
    same_shape = [
        (hues[hue], hues[other_hue])
        for (shape, hue), (other_shape, other_hue) in combinations(KNOWN.values(), 2)
        if shape == other_shape
    ]
    assert len(same_shape) > 10
    for eyes in (ALL_CONES, WITHOUT_RED, WITHOUT_GREEN):
        assert min(_difference(*pair, eyes) for pair in neighbours + same_shape) > 0.08


def _linear(colour: Colour) -> Colour:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (byte / 255 for byte in colour)
    )
    return red, green, blue


def _contrast(first: Colour, second: Colour) -> float:
    """As WCAG 2 defines it."""
    darker, lighter = sorted(
        0.2126 * red + 0.7152 * g + 0.0722 * b for red, g, b in (first, second)
    )
    return (lighter + 0.05) / (darker + 0.05)


def _difference(first: Colour, second: Colour, eyes: tuple[Colour, ...]) -> float:
    return dist(_lab(_times(eyes, first)), _lab(_times(eyes, second)))


def _lab(colour: Colour) -> Colour:
    long, medium, short = (max(part, 0) ** (1 / 3) for part in _times(TO_CONES, colour))
    return _times(TO_LAB, (long, medium, short))


def _times(rows: tuple[Colour, ...], colour: Colour) -> Colour:
    first, second, third = (sum(map(float.__mul__, row, map(float, colour))) for row in rows)
    return first, second, third
