"""Draws the card of a link preview, in the light colours and the faces of the pages."""

import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from io import BytesIO
from itertools import pairwise
from typing import NamedTuple

from django.conf import settings
from PIL import Image, ImageDraw, ImageFont

FONTS = settings.BASE_DIR / "explorer" / "static" / "fonts"
SANS, MONO = "plex-sans", "plex-mono-600"
REGULAR, SEMIBOLD = 400, 600
# As in explorer/static/tacitus.css.
PAPER, INK, FADED, LINE, ACCENT = "#fbf9f4", "#1d1b18", "#5f5a52", "#dcd6ca", "#2c6257"
MARK_COLOURS = {"proven": ACCENT, "moving": "#8a5a00", "waiting": "#6c675f", "rejected": "#9c3322"}
CARD_SIZE = 1200, 630  # also in explorer/templates/base.html
MARGIN, LOGO_TOP, SENTENCE_TOP, RULE_TOP, LAST_LINE = 80, 60, 164, 532, 573
HASH_SIZE, CODE_SIZE = 22, 34
TEXT_WIDTH = CARD_SIZE[0] - 2 * MARGIN
MAX_LINES = 3
SENTENCE_SIZES = 60, 52, 46  # the largest one that needs the fewest lines
MAX_VALUE_SIZE, MIN_VALUE_SIZE = 92, 38
STATUS_SIZE, SMALL_SIZE, BLOCK_SIZE, NAME_SIZE = 76, 28, 34, 44
LINE_HEIGHT = 1.22
LOGO_SIZE, LOGO_UNITS = 64, 32  # pixels; units of explorer/static/favicon.svg
LOGO_PATH = (16, 4), (12, 12), (16, 20), (20, 28)
LOGO_OTHERS = (20, 12), (8, 20), (24, 20), (4, 28), (12, 28), (28, 28)
SMOOTHNESS = 4  # Pillow draws shapes without smooth edges, so they are drawn larger
COLOUR_COUNT = 64  # of the file
MAX_LENGTH = 400  # more characters than three lines have
MAX_CARDS = 64  # kept in memory, of about 20 kB each

Place = tuple[float, float]
Font = ImageFont.FreeTypeFont


class Card(NamedTuple):
    """The texts of a card."""

    subject: str
    block: str
    values: tuple[str, ...]  # of one fact, the most exact first; empty: the status is large
    mark: str  # CSS class
    status: str
    remark: str
    host: str
    block_hash: str = ""  # of a fact
    check_code: str = ""  # of a fact


@lru_cache(MAX_CARDS)
def draw_card(card: Card) -> bytes:
    """The PNG."""
    image = Image.new("RGB", CARD_SIZE, PAPER)
    draw = ImageDraw.Draw(image)
    image.paste(_logo(), (MARGIN, LOGO_TOP))
    place = MARGIN + LOGO_SIZE * 4 / 3, LOGO_TOP + LOGO_SIZE / 2
    draw.text(place, "Tacitus", INK, _font(SANS, NAME_SIZE), "lm")
    if card.check_code:
        _draw_check_code(draw, card.check_code, place[1])
    middle = (_draw_sentence(draw, card) + RULE_TOP) / 2
    draw.line((MARGIN, RULE_TOP, MARGIN + TEXT_WIDTH, RULE_TOP), LINE, 2)
    left = float(MARGIN)
    if card.values:
        value, font = _fitting_value(card.values)
        draw.text((left, middle), value, INK, font, "lm")
        status_end = _draw_status(image, card, (left, LAST_LINE), _font(SANS, SMALL_SIZE))
        left = status_end + SMALL_SIZE / 2
    else:
        _draw_status(image, card, (left, middle), _font(SANS, STATUS_SIZE))
    subtle, right = _font(SANS, SMALL_SIZE, REGULAR), MARGIN + TEXT_WIDTH
    host = _shorten(_legible(card.host), subtle, TEXT_WIDTH / 2)
    draw.text((right, LAST_LINE), host, FADED, subtle, "rm")
    room = right - subtle.getlength(host) - SMALL_SIZE - left
    draw.text((left, LAST_LINE), _shorten(_legible(card.remark), subtle, room), FADED, subtle, "lm")
    return _png(image)


def _draw_check_code(draw: ImageDraw.ImageDraw, code: str, middle: float) -> None:
    right, font = MARGIN + TEXT_WIDTH, _font(MONO, CODE_SIZE)
    draw.text((right, middle), code, INK, font, "rm")
    left = right - font.getlength(code) - SMALL_SIZE / 2
    draw.text((left, middle), "check code", FADED, _font(SANS, SMALL_SIZE, REGULAR), "rm")


def _png(image: Image.Image) -> bytes:
    """A third of the size of a file with all colours, in less time."""
    file = BytesIO()
    few_colours = image.quantize(COLOUR_COUNT, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few_colours.save(file, "PNG")
    return file.getvalue()


def _draw_sentence(draw: ImageDraw.ImageDraw, card: Card) -> float:
    """Returns where it ends, with its block."""
    text, font = _legible(card.subject), _font(SANS, SENTENCE_SIZES[-1])
    lines = _lines(text, font)
    if len(lines) < MAX_LINES:
        fonts = [_font(SANS, size) for size in SENTENCE_SIZES]
        font = next(font for font in fonts if len(_lines(text, font)) == len(lines))
        lines = _lines(text, font)
    line_height = font.size * LINE_HEIGHT
    middle = SENTENCE_TOP + line_height / 2
    for line in lines:
        draw.text((MARGIN, middle), line, INK, font, "lm")
        middle += line_height
    subtle = _font(SANS, BLOCK_SIZE, REGULAR)
    middle += BLOCK_SIZE - line_height / 2
    block = _shorten(_legible(card.block), subtle, TEXT_WIDTH)
    draw.text((MARGIN, middle), block, FADED, subtle, "lm")
    if card.block_hash:
        middle += BLOCK_SIZE * LINE_HEIGHT
        draw.text((MARGIN, middle), card.block_hash, FADED, _font(MONO, HASH_SIZE), "lm")
    return middle + BLOCK_SIZE / 2


def _lines(text: str, font: Font) -> list[str]:
    """Lines that fit, broken at spaces, or in a long name; the last may end in an ellipsis."""
    lines = list[str]()
    while text and len(lines) < MAX_LINES:
        end = _fitting_length(text, font, TEXT_WIDTH)
        if end < len(text) and len(lines) < MAX_LINES - 1:
            breaks = text.rfind(" ", 0, end + 1), text.rfind(".", 0, end) + 1, end
            end = next(place for place in breaks if place > 0)
            lines.append(text[:end])
            text = text[end:].lstrip()
        else:
            lines.append(_shorten(text, font, TEXT_WIDTH))
            text = ""
    return lines


def _shorten(text: str, font: Font, width: float) -> str:
    if font.getlength(text) <= width:
        return text
    return text[: _fitting_length(text, font, width - font.getlength("…"))].rstrip() + "…"


def _fitting_length(text: str, font: Font, width: float) -> int:
    """How many characters fit, at least one."""
    lengths = range(1, len(text) + 1)
    return max(bisect_right(lengths, width, key=lambda end: font.getlength(text[:end])), 1)


def _fitting_value(values: Sequence[str]) -> tuple[str, Font]:
    """The first value that fits in a line, or the start of the last one."""
    for value in map(_legible, values):
        face = MONO if value.startswith("0x") else SANS
        width = _font(face, MAX_VALUE_SIZE).getlength(value)
        size = min(int(MAX_VALUE_SIZE * TEXT_WIDTH / width), MAX_VALUE_SIZE)
        if size >= MIN_VALUE_SIZE:
            return value, _font(face, size)
    font = _font(face, MIN_VALUE_SIZE)
    return _shorten(value, font, TEXT_WIDTH), font


def _legible(text: str) -> str:
    """Escapes what the faces lack, such as direction controls, for which others show a box."""
    letters = unicodedata.normalize("NFC", text[:MAX_LENGTH])
    return "".join(letter if _has_glyph(letter) else f"\\u{ord(letter):04x}" for letter in letters)[
        :MAX_LENGTH
    ]


@lru_cache(2048)
def _has_glyph(letter: str) -> bool:
    font = _font(SANS, SMALL_SIZE)
    glyph = bytes(font.getmask(letter))
    is_blank = not any(glyph) and letter != " "
    is_alone = letter.isprintable() and not unicodedata.combining(letter)
    return is_alone and not is_blank and glyph != bytes(font.getmask("\uffff"))


@lru_cache(128)
def _font(face: str, size: int, weight: int = SEMIBOLD) -> Font:
    font = ImageFont.truetype(FONTS / f"{face}.woff2", size)
    if face == SANS:
        font.set_variation_by_axes([weight])
    return font


def _draw_status(image: Image.Image, card: Card, place: Place, font: Font) -> float:
    """Draws the mark and the word around the height of `place`. Returns where they end."""
    (left, middle), colour = place, MARK_COLOURS[card.mark]
    size = round(font.size * 0.8)
    image.paste(colour, (round(left), round(middle - size / 2)), _mark(card.mark, size))
    left += size + font.size * 0.35
    ImageDraw.Draw(image).text((left, middle), card.status, colour, font, "lm")
    return left + font.getlength(card.status)


@lru_cache(16)
def _mark(mark: str, size: int) -> Image.Image:
    """The opacity of a mark: a check, a half disc, a ring or a cross."""
    shape = _Shape(size, 20)
    if mark == "proven":
        shape.stroke([(3, 11), (8, 16), (17, 4.5)], 2.8)
    elif mark == "rejected":
        shape.stroke([(4, 4), (16, 16)], 2.8)
        shape.stroke([(16, 4), (4, 16)], 2.8)
    else:
        shape.ring(2.2)
        if mark == "moving":
            shape.half_disc()
    return shape.smooth()


@lru_cache(1)
def _logo() -> Image.Image:
    """As explorer/static/favicon.svg."""
    image = Image.new("RGB", (LOGO_SIZE, LOGO_SIZE), PAPER)
    others, path = _Shape(LOGO_SIZE, LOGO_UNITS), _Shape(LOGO_SIZE, LOGO_UNITS)
    for node in LOGO_OTHERS:
        others.disc(node, 2)
    path.stroke(LOGO_PATH, 2.6)
    for node in LOGO_PATH:
        path.disc(node, 4 if node is LOGO_PATH[-1] else 3)
    image.paste(ACCENT, (0, 0), others.smooth().point(lambda opacity: opacity * 0.45))
    image.paste(ACCENT, (0, 0), path.smooth())
    return image


class _Shape:
    """A square of `units`, drawn large and then reduced to `size` pixels."""

    def __init__(self, size: int, units: int) -> None:
        self._units, self._scale = units, size * SMOOTHNESS / units
        self._image = Image.new("L", (size * SMOOTHNESS, size * SMOOTHNESS))
        self._draw = ImageDraw.Draw(self._image)

    def stroke(self, points: Sequence[Place], width: float) -> None:
        """A line with round ends and corners."""
        scaled = [(x * self._scale, y * self._scale) for x, y in points]
        for start, end in pairwise(scaled):
            self._draw.line((start, end), 255, round(width * self._scale))
        for point in scaled:
            self._draw.circle(point, width * self._scale / 2, 255)

    def disc(self, point: Place, radius: float) -> None:
        x, y = point
        self._draw.circle((x * self._scale, y * self._scale), radius * self._scale, 255)

    def ring(self, width: float) -> None:
        self._draw.ellipse(self._disc(), outline=255, width=round(width * self._scale))

    def half_disc(self) -> None:
        self._draw.pieslice(self._disc(), 90, 270, 255)

    def _disc(self) -> tuple[float, float, float, float]:
        edge = 1.5 * self._scale
        end = self._image.width - edge
        return edge, edge, end, end

    def smooth(self) -> Image.Image:
        return self._image.reduce(SMOOTHNESS)
