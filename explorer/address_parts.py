"""What the addresses of pages are made of. What is not spelled like this leads to no page."""

GREATEST = 2**63 - 1  # that the database keeps


class WholeNumber:
    """A chain's id or a block's number, in the one way to write it."""

    regex = "0|[1-9][0-9]{0,18}"

    def to_python(self, value: str) -> int:
        if int(value) > GREATEST:
            raise ValueError(value)  # Django's way to say that nothing is there
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)


class HexDigits:
    """`0x` and so many digits, in any letter case; without the 0x it is another address."""

    def to_python(self, value: str) -> str:
        return value[2:].lower()

    def to_url(self, value: str) -> str:
        """As it is to be spelled: a checksum's capitals stay."""
        return value


class AccountAddress(HexDigits):
    regex = "0x[0-9a-fA-F]{40}"


class TransactionHash(HexDigits):
    regex = "0x[0-9a-fA-F]{64}"
