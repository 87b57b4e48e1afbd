"""How what pages name is spelled."""

from queries.schema.addresses import Address


def checksummed(digits: str) -> str:
    """An address by its 40 hex digits, with the capitals that check the rest."""
    return Address(bytes.fromhex(digits)).checksummed
