"""The demo's wallet: a local node's first account, which the node signs for without a key."""

from dataclasses import dataclass

from eth_utils.address import to_checksum_address

from queries.chain.json_rpc import JsonRpc, NodeRefused, NodeUnreachable

TIMEOUT = 5.0  # seconds


class DemoWalletGone(Exception):  # noqa: N818
    """The node does not answer, or does not sign."""


@dataclass(frozen=True, slots=True)
class DemoAccount:
    address: str  # checksummed
    chain_id: int


def demo_account(node: str) -> DemoAccount:
    try:
        rpc = JsonRpc(node, timeout=TIMEOUT)
        address = to_checksum_address(rpc.ask("eth_accounts")[0])
        return DemoAccount(address, int(rpc.ask("eth_chainId"), 16))
    except (NodeUnreachable, NodeRefused) as fault:
        raise DemoWalletGone from fault


def demo_signature(node: str, address: str, text: str) -> str:
    """Of a message for people, as EIP-191 has it."""
    try:
        rpc = JsonRpc(node, timeout=TIMEOUT)
        return str(rpc.ask("personal_sign", f"0x{text.encode().hex()}", address))
    except (NodeUnreachable, NodeRefused) as fault:
        raise DemoWalletGone from fault
