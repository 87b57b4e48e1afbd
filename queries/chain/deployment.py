"""Deploying a registry: what must hold before gas is spent, the transaction, and its receipt."""

from dataclasses import dataclass

from eth_utils.address import to_checksum_address

from queries.chain.destination import Destination
from queries.chain.errors import CallReverted
from queries.chain.one_transaction import Say, TransactionFailed, send_and_wait
from queries.chain.own_hashes import OwnHashes, own_hashes
from queries.chain.registry_code import built_in_words
from queries.chain.registry_facts import L1_BLOCK
from queries.chain.signer import Signer
from queries.proving.keccak import keccak256
from queries.proving.rlp_items import encode_integer, encode_list, encode_string
from queries.routes import RegistryKind


class DeploymentFailed(Exception):  # noqa: N818
    """The registry was not deployed; the sentence says why, and what is on its way."""


@dataclass(frozen=True, slots=True)
class Deployed:
    """A registry that stands on its chain."""

    address: str
    block: int
    gas_used: int


def created_address(sender: str, nonce: int) -> str:
    """Where a contract comes to stand that this sender's transaction deploys."""
    who = bytes.fromhex(sender.removeprefix("0x"))
    content = encode_list([encode_string(who), encode_integer(nonce)])
    return str(to_checksum_address(keccak256(content)[-20:]))


def check_chain(destination: Destination, kind: RegistryKind) -> None:
    """Refuse a chain on which such a registry could know no hashes."""
    chain = destination.chain.name
    if kind is RegistryKind.NATIVE:
        hashes = own_hashes(destination)
        if hashes is OwnHashes.NO_BLOCKS_YET:
            raise DeploymentFailed(
                f"{chain} has no blocks yet. Wait for its first one; a development node makes it "
                "on evm_mine."
            )
        if hashes is OwnHashes.NONE:
            raise DeploymentFailed(
                f"Contracts on {chain} do not see its own block hashes, so a native registry "
                "would know none. Take an attested one."
            )
    if kind is RegistryKind.OPTIMISM and not destination.code(L1_BLOCK):
        raise DeploymentFailed(
            f"{chain} has no L1Block contract at {L1_BLOCK}: it is no OP-stack chain. Take an "
            "attested registry."
        )


def deploy(  # noqa: PLR0913, PLR0917  (what is deployed, where, by whom, and how it is told)
    destination: Destination,
    signer: Signer,
    kind: RegistryKind,
    code: bytes,
    patience: float,
    say: Say,
) -> Deployed:
    """Send the transaction, and wait for its receipt as many seconds as `patience`."""
    try:
        sent = send_and_wait(destination, signer, None, code, patience, say)
    except CallReverted:
        raise DeploymentFailed(f"{destination.chain.name} would not take this contract.") from None
    except TransactionFailed as failed:
        raise DeploymentFailed(str(failed)) from None
    address = created_address(signer.address, sent.nonce)
    if built_in_words(kind, destination.code(address)) is None:
        raise DeploymentFailed(f"At {address} stands another contract than the one sent.")
    return Deployed(address, sent.mined.block, sent.mined.gas_used)
