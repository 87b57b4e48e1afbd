"""Examples of requests, with a route of this server filled in."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from queries.api.endpoint import Endpoint
from queries.api.lookup_questions import balance_call
from queries.attestations.body import AttestationBody
from queries.config.chains import Chain
from queries.reading import last_final_block, read_chain_heads
from queries.schema.json_schema import example_of
from queries.selectors import DUE_BLOCK, DUE_TIME, block_selector, time_selector
from queries.sources import Routes

# These stand in all examples; `fill_in` puts the server's own values in their places.
SOURCE, DESTINATION, BLOCK, TIME = "11155111", "11155420", "5186021", "1703799420"
SOURCE_NAME, DESTINATION_NAME, FEE = "Sepolia", "OP Testnet", "2000000000000000"
REGISTRY = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
SITE = "https://proofs.example.org"

_ACCOUNT = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
BALANCE = {SOURCE: {block_selector(BLOCK): {"accounts": {_ACCOUNT: {"props": ["BALANCE"]}}}}}
_FULL_REQUEST: dict[str, Any] = {
    "destinationChainId": DESTINATION,
    "fee": FEE,
    "data": {
        SOURCE: {
            block_selector(BLOCK): {
                "header": ["STATE_ROOT", "TIMESTAMP"],
                "absent": [{"transaction": 10_000}],
                "accounts": {_ACCOUNT: {"props": ["NONCE", "BALANCE"], "slots": ["0x0", "0x1"]}},
            },
            time_selector(TIME): {"header": ["BLOCK_NUMBER"]},
        }
    },
    "webhook": {
        "url": "https://example.org/hook",
        "headers": {"Authorization": "Bearer of-your-choice"},
    },
}


def _lookup(destination: int, registry: str, block: int) -> str:
    return f"0x{balance_call(destination, registry, _ACCOUNT, block).hex()}"


LOOKUP = _lookup(int(DESTINATION), REGISTRY, int(BLOCK))

# By the names of their models, for endpoints that do not bring their own.
_BODIES: dict[str, dict[str, dict[str, Any]]] = {
    "BatchRequest": {
        "One balance": {"destinationChainId": DESTINATION, "fee": FEE, "data": BALANCE},
        "All that can be asked for": _FULL_REQUEST,
    },
    "EstimateRequest": {"One balance": {"destinationChainId": DESTINATION, "data": BALANCE}},
    "FeedRequest": {
        "One balance every 300 blocks": {
            "every": "300 blocks",
            "batch": {
                "destinationChainId": DESTINATION,
                "fee": FEE,
                "data": {SOURCE: {DUE_BLOCK: {"accounts": {_ACCOUNT: {"props": ["BALANCE"]}}}}},
            },
        },
        "One balance each week": {
            "every": "1 week",
            "batch": {
                "destinationChainId": DESTINATION,
                "fee": FEE,
                "data": {SOURCE: {DUE_TIME: {"accounts": {_ACCOUNT: {"props": ["BALANCE"]}}}}},
            },
            "catchUp": "all",
        },
    },
    "FeedChange": {"Pause": {"state": "PAUSED"}, "Resume": {"state": "ACTIVE"}},
    "LookupBody": {"One balance": {"data": LOOKUP}},
    "AttestationBody": {"A signer's attestation": example_of(AttestationBody, "validation")},
}


def body_examples(endpoint: Endpoint) -> Mapping[str, Any]:
    """Examples of the endpoint's body, by title."""
    name = endpoint.body.__name__ if endpoint.body else ""
    return endpoint.body_examples or _BODIES.get(name, {})


@dataclass(frozen=True, slots=True)
class RouteExample:
    """A route of this server, and values to ask for on it."""

    source: Chain
    destination: Chain
    registry: str
    node: str
    fee: int  # wei; 0 where proving is free
    block: int | None = None  # a final block; None: no prover has seen the source yet
    time: int | None = None  # Unix seconds


ENOUGH_GAS = 500_000  # for one account, and a hop if need be
# Values are rounded down to these steps, so that documents can be cached.
BLOCK_STEP, TIME_STEP = 50, 3_600


def route_example(routes: Routes) -> RouteExample | None:
    """Prefer a route from a chain to itself. None if the server has no route."""
    registries = sorted(routes.registries.items(), key=lambda item: item[0][0] != item[0][1])
    if not registries:
        return None
    (source, destination), registry = registries[0]
    source_chain, destination_chain = routes.chains[source], routes.chains[destination]
    node = settings.DEMO_WALLET_NODE or f"https://your-node-of-chain-{destination}.example"
    fee = 0 if destination_chain.free else ENOUGH_GAS * destination_chain.max_gas_price
    head = read_chain_heads([source]).get(source)
    if head is None:
        return RouteExample(source_chain, destination_chain, registry.address, node, fee)
    final = last_final_block(head, source_chain, destination)
    block = final - final % BLOCK_STEP if final > BLOCK_STEP else final
    time = head.timestamp - head.timestamp % TIME_STEP if final > TIME_STEP else head.timestamp
    return RouteExample(source_chain, destination_chain, registry.address, node, fee, block, time)


def fill_in(content: Any, site: str, example: RouteExample | None) -> Any:
    """Put the server's address and route into an example, or into a document with examples."""
    values: dict[str, object] = {SITE: site}
    if example:
        block = int(BLOCK) if example.block is None else example.block
        values |= {
            LOOKUP: _lookup(example.destination.id, example.registry, block),
            SOURCE: example.source.id,
            SOURCE_NAME: example.source.name,
            DESTINATION: example.destination.id,
            DESTINATION_NAME: example.destination.name,
            REGISTRY: example.registry,
            REGISTRY.lower(): example.registry.lower(),
            FEE: example.fee,
            BLOCK: block,
            TIME: example.time or TIME,
        }
    json_texts = {old: json.dumps(str(new))[1:-1] for old, new in values.items()}
    return json.loads(
        re.sub("|".join(json_texts), lambda match: json_texts[match[0]], json.dumps(content))
    )
