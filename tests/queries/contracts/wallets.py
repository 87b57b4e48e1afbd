"""Contract wallets and their factories, for tests of sign-in."""

from eth_abi.abi import encode

from explorer.demo.local_node import LocalNode
from queries.contracts.abi import call_data
from tests.builds import contract_for_tests

MAGIC = bytes.fromhex("1626ba7e") + bytes(28)
WRAPPER_END = 16 * bytes.fromhex("6492")


def deploy_wallet(
    node: LocalNode, name: str, types: tuple[str, ...] = (), *arguments: object
) -> str:
    return node.deploy(contract_for_tests(name), encode(types, arguments))


def same_answer(node: LocalNode, answer: bytes, *, reverts: bool = False) -> str:
    """A wallet that always answers the same."""
    return deploy_wallet(node, "SameAnswerWallet", ("bytes", "bool"), answer, reverts)


def wrapped(factory: str, deployment: bytes, inner: bytes) -> bytes:
    """A signature by EIP-6492."""
    content = encode(["address", "bytes", "bytes"], [bytes.fromhex(factory[2:]), deployment, inner])
    return content + WRAPPER_END


class Maker:
    """A factory, and a wallet that it has not deployed yet."""

    def __init__(self, node: LocalNode, owner: str, salt: bytes, factory: str = "Factory") -> None:
        self.node = node
        self.address = deploy_wallet(node, factory)
        self._arguments = (salt, owner)
        self.wallet = "0x" + node.call(self.address, self.factory_call())[-20:].hex()

    def factory_call(self, function: str = "make") -> bytes:
        """The call that deploys the wallet, or another function of the factory."""
        return call_data(f"{function}(bytes32,address)", *self._arguments)

    def sign(self, inner: bytes, function: str = "make") -> bytes:
        return wrapped(self.address, self.factory_call(function), inner)
