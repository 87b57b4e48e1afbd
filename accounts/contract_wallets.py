"""What sign-in asks of a chain: whether a contract wallet takes a signature for its own.

This app talks to no network; whoever includes its addresses hands the function in.
"""

from collections.abc import Callable
from enum import Enum, auto


class WalletAnswer(Enum):
    ACCEPTED = auto()
    REFUSED = auto()
    NO_CONTRACT = auto()  # nor one that the signature says how to make
    CHAIN_UNKNOWN = auto()  # no node of it is configured
    NODE_UNREACHABLE = auto()  # or not now, because of another question, or nodes disagree


# (chain id, checksummed address, digest that was signed, signature, what is done when a node is
# about to be asked, which may refuse)
AskWallet = Callable[[int, str, bytes, bytes, Callable[[], None]], WalletAnswer]
