"""A small ENS on a local node, with names that mean whom a test says."""

from eth_utils.address import to_checksum_address

from explorer.demo.local_node import LocalNode
from queries.chain.ens import name_hash
from queries.contracts.abi import call_data
from tests.builds import contract_of_tests


class LocalEns:
    """A registry and its resolvers."""

    def __init__(self, node: LocalNode) -> None:
        self._node = node
        self.address, self.resolver, self.off_chain, self.whole_names = (
            to_checksum_address(node.deploy(contract_of_tests(name)))
            for name in ("EnsRegistry", "Resolver", "OffChainResolver", "WholeNamesResolver")
        )

    def set_resolver(self, name: str, resolver: str) -> None:
        self._set(self.address, name, resolver)

    def set_address(self, name: str, account: str) -> None:
        self.set_resolver(name, self.resolver)
        self._set(self.resolver, name, account)

    def set_below(self, above: str, name: str, account: str) -> None:
        """By the resolver of a name above it alone (ENSIP-10)."""
        self.set_resolver(above, self.whole_names)
        self._set(self.whole_names, name, account)

    def _set(self, where: str, name: str, value: str) -> None:
        self._node.send(where, call_data("set(bytes32,address)", name_hash(name), value))
