"""A shape and a colour for each chain, so that the rows of lists can be told apart."""

from dataclasses import dataclass

# Paths in a square of 16 units
SHAPES = {
    "diamond": "M8 1 15 8 8 15 1 8z",
    "disc": "M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13z",
    "hexagon": "M8 1 14 4.5v7L8 15 2 11.5v-7z",
    "triangle": "M8 1.5 15.2 14H.8z",
    "square": "M2 2h12v12H2z",
    "ring": "M8 1.5a6.5 6.5 0 0 0 0 13 6.5 6.5 0 0 0 0-13zm0 4a2.5 2.5 0 0 1 0 5 2.5 2.5 0 0 1 0-5",
    "cross": "M5.5 1.5h5v4h4v5h-4v4h-5v-4h-4v-5h4z",
    "drop": "M1.5 2.5h13L8 15z",
}
HUES = 12  # CSS classes hue-0 to hue-11
# Of networks with colours of their own; a test network has the shape of its main network.
KNOWN = {
    1: ("diamond", 8), 11155111: ("diamond", 9), 17000: ("diamond", 0), 560048: ("diamond", 5),
    10: ("disc", 0), 11155420: ("disc", 1),
    8453: ("square", 8), 84532: ("square", 9),
    42161: ("hexagon", 7), 421614: ("hexagon", 6),
    137: ("ring", 9), 100: ("ring", 5), 56: ("cross", 2), 43114: ("triangle", 0),
    130: ("disc", 11), 480: ("ring", 8), 59144: ("square", 6), 534352: ("square", 2),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChainMark:
    path: str  # SVG
    hue: int


def chain_mark(chain_id: int) -> ChainMark:
    """The mark of a known network, or one that follows from the id: neighbours differ in both."""
    if known := KNOWN.get(chain_id):
        shape, hue = known
        return ChainMark(SHAPES[shape], hue)
    paths = list(SHAPES.values())
    return ChainMark(paths[chain_id % len(paths)], chain_id * 5 % HUES)
