"""Contract wallets, and what makes them, for the tests of sign-in."""

from eth_abi.abi import encode

from explorer.demo.local_node import LocalNode
from queries.contracts.abi import call_data
from tests.builds import contract_of_tests

MAGIC = bytes.fromhex("1626ba7e") + bytes(28)
WRAPPER_END = 16 * bytes.fromhex("6492")


def deploy_wallet(
    node: LocalNode, name: str, types: tuple[str, ...] = (), *arguments: object
) -> str:
    return node.deploy(contract_of_tests(name), encode(types, arguments))


def same_answer(node: LocalNode, answer: bytes, *, reverts: bool = False) -> str:
    """A wallet that answers so."""
    return deploy_wallet(node, "SameAnswerWallet", ("bytes", "bool"), answer, reverts)


def wrapped(factory: str, making: bytes, inner: bytes) -> bytes:
    """A signature by EIP-6492."""
    content = encode(["address", "bytes", "bytes"], [bytes.fromhex(factory[2:]), making, inner])
    return content + WRAPPER_END


class Maker:
    """A factory, and one wallet that it has not made yet."""

    def __init__(self, node: LocalNode, owner: str, salt: bytes, factory: str = "Factory") -> None:
        self.node = node
        self.address = deploy_wallet(node, factory)
        self._of = (salt, owner)
        self.wallet = "0x" + node.call(self.address, self.making())[-20:].hex()

    def making(self, function: str = "make") -> bytes:
        """The call that makes the wallet, or does not quite."""
        return call_data(f"{function}(bytes32,address)", *self._of)

    def sign(self, inner: bytes, function: str = "make") -> bytes:
        return wrapped(self.address, self.making(function), inner)
