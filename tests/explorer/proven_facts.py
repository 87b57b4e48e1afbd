"""A batch with facts of all kinds, proven on a real chain."""

from typing import Any

from django.test import Client

from explorer.pages.facts import fact_url
from queries.reading import batches
from queries.reading.facts import FactView
from tests.queries.prover.service import CHAIN_ID, ETHER, Service

HOLDER = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
SLOT = 5
FACTS = {"BALANCE", "CODE_HASH", "TIMESTAMP", "BLOCK_AT_TIMESTAMP", f"0x{SLOT:064x}"}


def proven_batch(service: Service) -> str:
    """`HOLDER` has 123 ether, and 77 in a slot."""
    ask = service.node.rpc.ask
    ask("anvil_setBalance", HOLDER, hex(123 * ETHER))
    ask("anvil_setStorageAt", HOLDER, f"0x{SLOT:064x}", f"0x{77:064x}")
    service.mine(4)
    service.context().head(CHAIN_ID)
    block = service.head() - 2
    seconds = int(service.header(block)["timestamp"], 16)
    account = {HOLDER: {"props": ["BALANCE", "CODE_HASH"], "slots": [hex(SLOT)]}}
    batch = service.submit(
        {
            str(CHAIN_ID): {
                f"block:{block}": {"accounts": account},
                f"timestamp:{seconds}": {"header": ["TIMESTAMP"]},
            }
        }
    )
    service.work(batch)
    return batch


def facts_in(batch_id: str) -> dict[str, FactView]:
    batch = batches.batch_view(batch_id)
    assert batch is not None
    queries = batches.query_page(batch, first=0, limit=10).queries
    return {fact.name: fact for query in queries for fact in query.facts}


def fact_page(batch_id: str, name: str, page: str = "") -> Any:
    """The page at the fact's permanent address, or below it."""
    return Client().get(fact_url(facts_in(batch_id)[name], page))
