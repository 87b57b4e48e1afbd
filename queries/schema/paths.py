"""Paths of values in a request, which errors name. For example:

data.11155111.block:5186021.accounts.0xd8da6bf26964af9d7eed9e03e53415d37aa96045.slots[3]
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from accounts.http.errors import ErrorCode, InvalidValueError
from accounts.wording import escape_unprintable, truncate_middle

MAX_PATH_LENGTH = 300


@dataclass(frozen=True, slots=True)
class JsonPath:
    """The steps from the whole body to a value: an object's key, or an index in a list."""

    steps: tuple[str | int, ...] = ()

    def child(self, step: str | int) -> Self:
        return type(self)((*self.steps, step))

    @property
    def parent(self) -> Self:
        """The object or list that holds the value."""
        return type(self)(self.steps[:-1])

    @property
    def text(self) -> str:
        """The path as text of bounded length, because the sender of a request chooses its keys."""
        text = "".join(map(_step_text, self.steps))
        return truncate_middle(text.removeprefix("."), MAX_PATH_LENGTH)

    def refusal(
        self, code: ErrorCode, problem: str, *, sentence: str = "", detail: str = ""
    ) -> "RefusedJsonError":
        """The refusal of the value. `problem` follows its name; empty if `sentence` says all."""
        return RefusedJsonError(code, problem, self, sentence=sentence, detail=detail)

    def __str__(self) -> str:
        return self.text or "The body"


class RefusedJsonError(InvalidValueError):
    """A refused value in JSON, or a key of it."""

    def __init__(
        self,
        code: ErrorCode,
        problem: str,
        json_path: JsonPath,
        *,
        sentence: str = "",
        detail: str = "",
    ) -> None:
        sentence = sentence or f"{json_path} {problem}"
        super().__init__(code, problem, json_path.text, sentence=sentence, detail=detail)
        self.error_code, self.json_path = code, json_path

    def within(self, parent: JsonPath, names: Mapping[str, str]) -> "RefusedJsonError":
        """The refusal of the same value in a body that has this one at `parent`, and spells these
        keys by other names.
        """
        steps = (names.get(str(step), step) for step in self.json_path.steps)
        path = JsonPath((*parent.steps, *steps))
        sentence = "" if self.problem else self.sentence
        return path.refusal(self.error_code, self.problem, sentence=sentence, detail=self.detail)


WHOLE_BODY = JsonPath()


def _step_text(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{escape_unprintable(step)}" if step else '.""'
