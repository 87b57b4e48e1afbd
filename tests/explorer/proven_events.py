"""A transfer of a token, and facts about its block, proven on a real chain."""

from dataclasses import dataclass
from typing import Any

from eth_abi.abi import encode
from eth_utils.address import to_checksum_address

from queries.contracts.abi import call_data, load_artifact
from queries.contracts.create2 import FACTORY, SALT, verifier_address, verifier_init_code
from tests.queries.prover.service import CHAIN_ID, HOLDER, Service

TOKENS = 12_345
AMOUNT = TOKENS * 10**18
SILENT = "0x00000000000000000000000000000000000000AA"


@dataclass(frozen=True)
class Transfer:
    """A transfer of a token from an account of the node to `HOLDER`."""

    token: str
    sender: str
    block: int
    transaction: str

    @property
    def facts(self) -> str:
        """The address of the pages of facts about its block."""
        return f"/explorer/fact/{CHAIN_ID}/{self.block}/events"


def mine_transfer(service: Service) -> Transfer:
    """The registry has a verifier then."""
    node = service.node
    if node.rpc.ask("eth_getCode", verifier_address(service.registry.address), "latest") == "0x":
        node.send(FACTORY, SALT + verifier_init_code(service.registry.address))
    sender = to_checksum_address(node.rpc.ask("eth_accounts")[0])
    arguments = encode(["address[]", "uint256[]"], [[sender], [AMOUNT]])
    token = to_checksum_address(node.deploy(load_artifact("DemoToken").bytecode, arguments))
    receipt = node.send(token, call_data("transfer(address,uint256)", HOLDER, AMOUNT))
    block = service.head()
    service.mine(2)
    service.context().head(CHAIN_ID)
    return Transfer(token, sender, block, receipt.transaction)


def submit_events(service: Service, transfer: Transfer, **items: Any) -> str:
    return service.submit({str(CHAIN_ID): {f"block:{transfer.block}": items}})


def all_kinds(transfer: Transfer) -> dict[str, Any]:
    return {
        "logs": [{"transaction": transfer.transaction, "log": 0}],
        "receipts": [0],
        "transactions": [transfer.transaction],
        "absent": [
            {"transaction": 1},
            {"withdrawal": 0},
            {"transaction": 0, "address": SILENT},
            {"address": SILENT},
        ],
    }


def prove_events(service: Service, transfer: Transfer, **items: Any) -> str:
    batch = submit_events(service, transfer, **(items or all_kinds(transfer)))
    service.work(batch)
    return batch
