"""Claims about OP-stack chains: outputs, and super roots, which hold the outputs of several chains.

https://specs.optimism.io/fault-proof/stage-one/optimism-portal.html
"""

from queries.proving.keccak import HASH_BYTES, keccak256

SUPER_ROOT_VERSION = 1
TIME_BYTES = 8
_ENTRY_BYTES = 2 * HASH_BYTES  # a chain's id, and the hash of its output


def output_root(state_root: bytes, message_passer_root: bytes, block_hash: bytes) -> bytes:
    """The hash of an output, of version 0."""
    return keccak256(bytes(HASH_BYTES) + state_root + message_passer_root + block_hash)


def encode_super_root(time: int, outputs: dict[int, bytes]) -> bytes:
    """A super root: its root claim is the hash of these bytes. `outputs`: hashes by chain id."""
    entries = (chain.to_bytes(HASH_BYTES) + outputs[chain] for chain in sorted(outputs))
    return b"".join((bytes([SUPER_ROOT_VERSION]), time.to_bytes(TIME_BYTES), *entries))


def super_root_time(super_root: bytes) -> int:
    """Its Unix time: each output is of its chain's last block at this time."""
    return int.from_bytes(super_root[1 : 1 + TIME_BYTES])


def output_in_super_root(super_root: bytes, chain: int) -> bytes:
    """The hash of the chain's output; empty if there is none or this is not a super root, whose
    chains ascend.
    """
    start = 1 + TIME_BYTES
    if super_root[:1] != bytes([SUPER_ROOT_VERSION]) or len(super_root) % _ENTRY_BYTES != start:
        return b""
    entries = [
        (
            int.from_bytes(super_root[at : at + HASH_BYTES]),
            super_root[at + HASH_BYTES : at + _ENTRY_BYTES],
        )
        for at in range(start, len(super_root), _ENTRY_BYTES)
    ]
    chains = [entry_chain for entry_chain, _ in entries]
    return dict(entries).get(chain, b"") if chains == sorted(set(chains)) else b""
