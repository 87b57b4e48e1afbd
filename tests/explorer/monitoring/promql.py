"""PromQL as far as our alerts and panels go, read strictly: whatever else there is, is refused.

Prometheus itself, whose promtool would say whether it understands them, takes 100 MB with what it
needs, and reads no dashboard.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

FUNCTIONS = {"increase": ("range",), "histogram_quantile": ("scalar", "instant")}
AGGREGATIONS = {"sum", "min", "max"}
COMPARISONS = ("==", "!=", ">=", "<=", ">", "<")
LEVELS = (COMPARISONS, ("+", "-"), ("*", "/", "%"))  # the loosest first
KEYWORDS = {"and", "bool", "by", "group_left", "group_right", "ignoring", "offset", "on", "or",
            "unless", "without"}  # fmt: skip
TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.])
    |(?P<name>[a-zA-Z_:][\w:]*)
    |(?P<text>"(?:[^"\\\n]|\\.)*")
    |(?P<range>\[[^\[\]]*\])
    |(?P<sign>[=!]=|[=!]~|>=|<=|[-+*/%<>(){},=]))""",
    re.ASCII | re.VERBOSE,
)
DURATION = re.compile("".join(rf"(?:(\d+){unit})?" for unit in "wdhms"), re.ASCII)
SECONDS = (604_800, 86_400, 3_600, 60, 1)
LABEL = re.compile(r"[a-zA-Z_]\w*", re.ASCII)


class NotPromql(Exception):  # noqa: N818
    """Why an expression is not understood."""


@dataclass(frozen=True, slots=True)
class Number:
    value: float


@dataclass(frozen=True, slots=True)
class Matcher:
    label: str
    sign: str
    value: str


@dataclass(frozen=True, slots=True)
class Selector:
    metric: str
    matchers: tuple[Matcher, ...]
    seconds: int  # of a range; 0: as it is at the moment


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    arguments: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Aggregation:
    operator: str
    by: frozenset[str]
    of: "Expression"


@dataclass(frozen=True, slots=True)
class Matching:
    """Which labels tell what belongs together, of two sides."""

    on: bool  # these, or all but these
    labels: frozenset[str]
    many_left: bool


@dataclass(frozen=True, slots=True)
class Binary:
    operator: str
    left: "Expression"
    right: "Expression"
    matching: Matching


Expression: TypeAlias = Number | Selector | Call | Aggregation | Binary
BY_ALL = Matching(on=False, labels=frozenset(), many_left=False)


def parsed(text: str) -> Expression:
    parser = _Parser(text)
    found = parser.expression()
    if parser.next:
        raise NotPromql(f"after the expression comes {parser.next}")
    if kind(found) != "instant":
        raise NotPromql(f"it is a {kind(found)}")
    return found


def duration(text: str) -> int:
    """Its seconds."""
    match = DURATION.fullmatch(text)
    parts = match.groups(default="0") if match else ()
    if not any(map(int, parts)):
        raise NotPromql(f"{text!r} is no duration")
    return sum(int(part) * each for part, each in zip(parts, SECONDS, strict=True))


def kind(it: Expression) -> str:
    if isinstance(it, Number):
        return "scalar"
    if isinstance(it, Selector) and it.seconds:
        return "range"
    if isinstance(it, Binary) and kind(it.left) == kind(it.right) == "scalar":
        return "scalar"
    return "instant"


def selectors(it: Expression) -> Iterator[Selector]:
    if isinstance(it, Selector):
        yield it
    elif isinstance(it, Aggregation):
        yield from selectors(it.of)
    elif isinstance(it, Call):
        for each in it.arguments:
            yield from selectors(each)
    elif isinstance(it, Binary):
        yield from selectors(it.left)
        yield from selectors(it.right)


def _tokens(text: str) -> Iterator[str]:
    place, end = 0, len(text.rstrip())
    while place < end:
        match = TOKEN.match(text, place)
        if not match:
            raise NotPromql(f"what is {text[place:]!r}?")
        yield match[0].strip()
        place = match.end()


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens = [*_tokens(text), ""]
        self.place = 0

    @property
    def next(self) -> str:
        return self.tokens[self.place]

    def expression(self, level: int = 0) -> Expression:
        if level == len(LEVELS):
            return self._operand()
        left = self.expression(level + 1)
        while self.next in LEVELS[level]:
            operator, matching = self._take(), self._matching()
            left = _binary(operator, left, self.expression(level + 1), matching)
        return left

    def _take(self, *allowed: str) -> str:
        taken = self.next
        if not taken or (allowed and taken not in allowed):
            due = " or ".join(allowed) or "more"
            raise NotPromql(f"{due} is due, and {taken or 'the end'} comes")
        self.place += 1
        return taken

    def _operand(self) -> Expression:
        taken = self._take()
        if taken == "(":
            inner = self.expression()
            self._take(")")
            return inner
        if taken[0].isdigit():
            return Number(float(taken))
        if not re.match("[a-zA-Z_:]", taken) or taken in KEYWORDS:
            raise NotPromql(f"{taken} is no operand")
        if taken in AGGREGATIONS:
            return self._aggregation(taken)
        return self._call(taken) if self.next == "(" else self._selector(taken)

    def _aggregation(self, operator: str) -> Aggregation:
        by = frozenset[str]()
        if self.next == "by":
            self._take()
            by = self._labels()
        self._take("(")
        of = self.expression()
        self._take(")")
        if kind(of) != "instant":
            raise NotPromql(f"{operator} of a {kind(of)}")
        return Aggregation(operator, by, of)

    def _call(self, function: str) -> Call:
        if function not in FUNCTIONS:
            raise NotPromql(f"there is no function {function}")
        self._take("(")
        arguments = [self.expression()]
        while self._take(",", ")") == ",":
            arguments.append(self.expression())
        if tuple(map(kind, arguments)) != FUNCTIONS[function]:
            raise NotPromql(f"{function} takes {FUNCTIONS[function]}")
        return Call(function, tuple(arguments))

    def _selector(self, metric: str) -> Selector:
        matchers = []
        if self.next == "{":
            self._take()
            matchers.append(self._matcher())
            while self._take(",", "}") == ",":
                matchers.append(self._matcher())
        seconds = duration(self._take()[1:-1]) if self.next.startswith("[") else 0
        return Selector(metric, tuple(matchers), seconds)

    def _matcher(self) -> Matcher:
        label, sign, value = self._label(), self._take("=", "!=", "=~", "!~"), self._take()
        if not value.startswith('"') or "\\" in value:
            raise NotPromql(f"{value} is no text")
        if "~" in sign:
            try:
                re.compile(value[1:-1])
            except re.error as fault:
                raise NotPromql(f"{value} is no pattern") from fault
        return Matcher(label, sign, value[1:-1])

    def _matching(self) -> Matching | None:
        if self.next not in {"on", "ignoring"}:
            return None
        on, labels, many_left = self._take() == "on", self._labels(), self.next == "group_left"
        if many_left:
            self._take()
            if self.next == "(" and self._labels():
                raise NotPromql("labels of the other side are not known here")
        return Matching(on, labels, many_left)

    def _labels(self) -> frozenset[str]:
        self._take("(")
        found: set[str] = set()
        while self.next != ")":
            found.add(self._label())
            if self.next != ")":
                self._take(",")
        self._take(")")
        return frozenset(found)

    def _label(self) -> str:
        taken = self._take()
        if not LABEL.fullmatch(taken):
            raise NotPromql(f"{taken} is no label")
        return taken


def _binary(
    operator: str, left: Expression, right: Expression, matching: Matching | None
) -> Binary:
    kinds = {kind(left), kind(right)}
    if "range" in kinds:
        raise NotPromql(f"{operator} of a range")
    if matching and kinds != {"instant"}:
        raise NotPromql("a number has no labels to match")
    if kinds == {"scalar"} and operator in COMPARISONS:
        raise NotPromql("two numbers are compared")
    return Binary(operator, left, right, matching or BY_ALL)
