"""Why a name means nobody, as far as may be believed."""

from typing import ClassVar


class EnsFault(Exception):  # noqa: N818
    """A name means nobody, as far as may be believed."""

    code: ClassVar[str]
    retryable: ClassVar[bool] = False
    says: ClassVar[str]

    def __init__(self, name: str, block: int) -> None:
        super().__init__(self.says.format(name=name, block=f"{block:,}"))


class EnsUnresolved(EnsFault):
    """Neither a resolver of the name's own nor one of the names above it has an address for it."""

    code = "ens_unresolved"
    says = "{name} stands for no address at block {block}."


class EnsOffChain(EnsFault):
    """The resolver sends whoever asks to a server."""

    code = "ens_off_chain"
    says = "{name} is looked up off chain at block {block}, which is not done here."


class EnsDisagreement(EnsFault):
    """Two nodes say different things."""

    code = "ens_disagreement"
    retryable = True
    says = "The nodes do not agree on the address that {name} stands for at block {block}."
