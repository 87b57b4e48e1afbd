"""A fact about a block: what its kind defines, and the views that return it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from queries.proving.keccak import HASH_BYTES, keccak256, number_word

Argument = int | bytes | list[bytes]  # of a view


@dataclass(frozen=True, slots=True)
class BlockFact(ABC):
    """A fact about a block. A registry stores its word, or for events the verifier beside it."""

    kind: ClassVar[str]  # its name in the API, in proof files and in the database
    pattern: ClassVar[str]  # of its name, as a regular expression
    view: ClassVar[str]  # of the registry, or of the events verifier; see `try_view`
    outputs: ClassVar[tuple[str, ...]] = ("bytes32",)  # of the view; a struct's members alone
    has_account: ClassVar[bool] = False
    is_event: ClassVar[bool] = False
    is_unbounded: ClassVar[bool] = False  # a query may ask for any number of them
    needs_child: ClassVar[bool] = False  # the next block's header proves it

    key: int = 0  # a field's number, slot, Unix time, or index of a transaction or withdrawal
    account: bytes = b""  # of the field or slot

    @property
    @abstractmethod
    def name(self) -> str: ...

    @classmethod
    @abstractmethod
    def from_name(cls, name: str) -> Self:
        """The fact of this name, which has the pattern."""

    @abstractmethod
    def arguments(self, block: int) -> tuple[Argument, ...]:
        """The arguments of both views."""

    @staticmethod
    def encode_word(*outputs: int) -> bytes:
        """The word that stands for these outputs of the view."""
        return number_word(outputs[0])

    @property
    def position(self) -> tuple[int, int]:
        """Where it stands among facts of its kind."""
        return self.key, 0

    @property
    def sort_key(self) -> tuple[str, int, int, str]:
        return self.kind, *self.position, self.name

    @property
    def witness_key(self) -> bytes:
        """Where `verify` returns it, among facts of its kind and account."""
        return number_word(self.key)

    @property
    def try_view(self) -> str:
        """The view that returns whether it is proven and, unless it is an absence, its value.

        `view` returns its value alone, and reverts if it is not proven; for an absence both are
        the same.
        """
        return f"try{self.view[0].upper()}{self.view[1:]}" if self.outputs else self.view

    def view_call(self, block: int) -> bytes:
        """The calldata of `try_view`."""
        return encode_view_call(self.try_view, self.arguments(block))

    def decode(self, answer: bytes) -> bytes | None:
        """The word in the answer of `try_view`, or None if the fact is not proven.

        Raises `ValueError` if the answer is malformed for this view.
        """
        if len(answer) != HASH_BYTES * (1 + len(self.outputs)):
            raise ValueError("the answer has the wrong length")
        words = [answer[start : start + HASH_BYTES] for start in range(0, len(answer), HASH_BYTES)]
        is_proven, *numbers = map(int.from_bytes, words)
        if is_proven > 1:
            raise ValueError("the answer does not begin with a bool")
        if not is_proven:
            return None
        for number, output in zip(numbers, self.outputs, strict=True):
            if number.bit_length() > _bit_width(output):
                raise ValueError("the answer has a number that is too large")
        return self.encode_word(*numbers)


def _bit_width(abi_type: str) -> int:
    """The bits of `bytes32`, `address`, or a type such as `uint64`."""
    return {"bytes32": 256, "address": 160}.get(abi_type) or int(abi_type.removeprefix("uint"))


def encode_view_call(signature: str, arguments: Sequence[Argument]) -> bytes:
    """The calldata; only lists have a dynamic type."""
    heads, tails = b"", b""
    for argument in arguments:
        if isinstance(argument, list):
            heads += number_word(HASH_BYTES * len(arguments) + len(tails))
            tails += number_word(len(argument)) + b"".join(argument)
        elif isinstance(argument, bytes):
            heads += argument.rjust(HASH_BYTES, b"\0")
        else:
            heads += number_word(argument)
    return keccak256(signature.encode())[:4] + heads + tails
