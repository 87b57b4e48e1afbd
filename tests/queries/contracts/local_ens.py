"""A small ENS on a local node."""

from eth_utils.address import to_checksum_address

from explorer.demo.local_node import LocalNode
from queries.chain.ens import name_hash
from queries.contracts.abi import call_data
from tests.builds import contract_for_tests


class LocalEns:
    """A registry and its resolvers."""

    def __init__(self, node: LocalNode) -> None:
        self._node = node
        self.address, self.resolver, self.off_chain, self.whole_names = (
            to_checksum_address(node.deploy(contract_for_tests(name)))
            for name in ("EnsRegistry", "Resolver", "OffChainResolver", "WholeNamesResolver")
        )

    def set_resolver(self, name: str, resolver: str) -> None:
        self._set(self.address, name, resolver)

    def set_address(self, name: str, account: str) -> None:
        self.set_resolver(name, self.resolver)
        self._set(self.resolver, name, account)

    def set_below(self, parent: str, name: str, account: str) -> None:
        """Set the address of a wildcard name, by its parent's resolver (ENSIP-10)."""
        self.set_resolver(parent, self.whole_names)
        self._set(self.whole_names, name, account)

    def _set(self, contract: str, name: str, value: str) -> None:
        self._node.send(contract, call_data("set(bytes32,address)", name_hash(name), value))
