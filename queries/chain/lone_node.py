"""A node that is named on the command line: no routes file says which chain it is of."""

from urllib.parse import urlsplit

from queries.chain.errors import NodesUnreachable
from queries.chain.json_rpc import JsonRpc, NodeRefused, NodeUnreachable
from queries.proving.errors import ProofError
from queries.proving.json_values import read_quantity
from queries.routes import Chain, NodeAddress

TIMEOUT = 10.0  # seconds


def chain_at(url: str) -> Chain:
    """The chain that the node says it is of, with this one node."""
    rpc = JsonRpc(url, TIMEOUT)
    try:
        chain_id = read_quantity(rpc.ask("eth_chainId"), "eth_chainId")
    except (NodeUnreachable, NodeRefused, ProofError):
        raise NodesUnreachable(f"The node at {host_of(url)} does not say its chain.") from None
    finally:
        rpc.close()
    return Chain(chain_id, f"chain {chain_id}", (NodeAddress(url),))


def host_of(url: str) -> str:
    """What may be shown of the address: the rest may hold a key."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an address that cannot be read"
    return f"{parts.hostname}{port}" if parts.hostname else "an address that cannot be read"
