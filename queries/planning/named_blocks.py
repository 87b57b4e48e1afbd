"""Blocks that a contract on the destination names, such as the last one that an oracle knows."""

from queries.chain import ChainClient
from queries.schema.functions import parse_function

MAX_BLOCK = 2**63 - 1  # that a database column holds
WORD_BYTES = 32


def read_block_number(node: ChainClient, contract: str, function: str) -> int | None:
    """The number that the contract returns; None if it is not a block's."""
    (answer,) = node.call_contract(contract, [parse_function(function).selector])
    if not isinstance(answer, bytes) or len(answer) != WORD_BYTES:
        return None
    number = int.from_bytes(answer)
    return number if number <= MAX_BLOCK else None
