"""Who an account is: an address, or a name that stands for one."""

import re
from dataclasses import dataclass

from eth_utils.address import to_checksum_address

# The labels' own characters are a small part of what ENSIP-15 allows. Whatever is in it is its own
# normal form, so that its hash is the name's. The rest (capitals, accents, emoji) has to be brought
# to a normal form by tables that change with Unicode; a mistake there would prove a stranger's
# account, so such names are refused. ENSIP-15 forbids a double hyphen after two characters, which
# also keeps out `xn--`: a punycode spelling is another name than the one it shows.
_ENS_NAME = re.compile(r"(?!.{256})(?:(?![^.]{2}--)[a-z0-9-]{1,63}\.)+(?![^.]{2}--)[a-z0-9-]{1,63}")


@dataclass(frozen=True, slots=True)
class Address:
    """An account's 20 bytes."""

    value: bytes

    def __str__(self) -> str:
        return f"0x{self.value.hex()}"

    @property
    def checksummed(self) -> str:
        """The spelling in which capitals check the rest (EIP-55)."""
        return to_checksum_address(self.value)


@dataclass(frozen=True, slots=True)
class EnsName:
    """A name in its normal form. Which account it means is decided at the proven block."""

    name: str

    def __str__(self) -> str:
        return self.name


def is_ens_name(text: str) -> bool:
    """Whether `text` is a name in normal form, of those that are taken here."""
    return _ENS_NAME.fullmatch(text) is not None
