"""Values of a parsed request by their JSON type; another type is a refusal that names the place."""

from collections.abc import Collection

from accounts.errors import Refusal
from queries.errors import MISSING_FIELD, UNKNOWN_FIELD, WRONG_TYPE

from .places import Place
from .wording import kind_of, listed


def read_object(value: object, place: Place) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _wrong_type(value, place, "an object")
    return value


def read_list(value: object, place: Place) -> list[object]:
    if not isinstance(value, list):
        raise _wrong_type(value, place, "a list")
    return value


def read_text(value: object, place: Place, example: str) -> str:
    if not isinstance(value, str):
        raise _wrong_type(value, place, f'text in quotes, such as "{example}"')
    return value


def required(members: dict[str, object], name: str, place: Place, meaning: str) -> object:
    if name not in members:
        missing = place.inside(name)
        raise Refusal(MISSING_FIELD, f"{missing} is missing: {meaning}.", path=missing.path)
    return members[name]


def optional(members: dict[str, object], name: str, place: Place) -> object | None:
    """The member, or None where it is left out. Null says neither, so it is refused."""
    if name in members and members[name] is None:
        null = place.inside(name)
        raise Refusal(WRONG_TYPE, f"{null} must not be null. Leave it out instead.", path=null.path)
    return members.get(name)


def refuse_unknown(members: dict[str, object], known: Collection[str], place: Place) -> None:
    for name in members:
        if name not in known:
            unknown = place.inside(name)
            raise Refusal(
                UNKNOWN_FIELD,
                f"{unknown} is not known here; the fields there are {listed(known)}.",
                path=unknown.path,
            )


def _wrong_type(value: object, place: Place, wanted: str) -> Refusal:
    return Refusal(WRONG_TYPE, f"{place} must be {wanted}, not {kind_of(value)}.", path=place.path)
