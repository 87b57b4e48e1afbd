"""What a fact is called where it is shown: by its field's name, or by its slot with 0x."""

from collections.abc import Mapping

from queries.proving.header_fields import HeaderField
from queries.proving.witnesses import AccountField


def shown_name(name: str) -> str:
    of_a_field = name in AccountField.__members__ or name in HeaderField.__members__
    return name if of_a_field else f"0x{name}"


def shown_values(kept: Mapping[str, str]) -> dict[str, str]:
    """Words of a query, which are kept as bare hex digits."""
    return {shown_name(name): f"0x{word}" for name, word in kept.items()}
