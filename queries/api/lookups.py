"""GET and POST /ccip, the gateway of FactsLookup (ERC-3668). No API key is needed.

Clients ask the next gateway after a 5xx, and some give up after a 4xx. So only what no gateway
could answer is refused with a 4xx.
"""

import hashlib
import re
import time
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from eth_abi.abi import decode, encode
from eth_abi.exceptions import DecodingError
from pydantic import ConfigDict, Field

from accounts.shared.errors import RefusalError, error_response
from accounts.shared.rate_limits import DAY, MINUTE, client_network, refuse_over_quota, use_quota
from queries.api.estimates import read_chains
from queries.api.request_parts import json_body
from queries.api.responses import ApiModel
from queries.config.registries import Registry
from queries.config.routes import Routes
from queries.contracts.abi import selector
from queries.error_codes import RETRY_SOON, LookupCode
from queries.intake.submit import refuse_blocks_beyond_head
from queries.planning.readers import ChainReaders
from queries.planning.witness import NotProvableError, RegistryWitness, make_witnesses, recent_block
from queries.proving.headers import HeaderField
from queries.proving.witnesses import AccountField
from queries.schema.batch_checks import BatchLimits, read_batch
from queries.schema.bodies import Body, read_body

LIMIT_PER_MINUTE = 120  # for an IP address; answers from the cache are free
SECONDS = 10.0
MAX_BYTES = 4_000  # of a body
SUFFIX = ".json"
QUESTION = "(uint8,address,uint256,uint256,uint256)"
SELECTOR = selector(f"lookUp(uint256,address,{QUESTION})")
RECENT_SELECTOR = selector(f"lookUpRecent(uint256,address,{QUESTION})")
WORDS = 7
DATA_PATTERN = rf"0[xX][0-9a-fA-F]{{{2 * (len(SELECTOR) + 32 * WORDS)}}}"


class LookupBody(Body):
    """What a client sends to a gateway whose URL has no `{data}`."""

    model_config = ConfigDict(extra="ignore")

    data: str = Field(
        pattern=f"^{DATA_PATTERN}$",
        description="The `callData` of the `OffchainLookup`.",
        examples=[f"0x{SELECTOR.hex()}{WORDS * 64 * '0'}"],
    )
    sender: str = Field(default="", description="Ignored: `data` names the registry.")


class LookupResponse(ApiModel):
    data: str = Field(description="What the client passes to the callback.", examples=["0x00"])


class Question(NamedTuple):
    """The Question of IFactsLookup."""

    kind: int
    account: str
    block: int
    key: int
    log: int
    is_recent: bool = False  # then `block` is the head of the destination at the caller's node

    def batch(self, registry: Registry) -> dict[str, Any]:
        """A batch that asks for the fact; `ValueError` if there is no such fact."""
        match self.kind:
            case 1:
                props = [AccountField(self.key).name]
                block: dict[str, Any] = {"accounts": {self.account: {"props": props}}}
            case 2:
                block = {"accounts": {self.account: {"slots": [hex(self.key)]}}}
            case 3:
                block = {"header": [HeaderField(self.key).name]}
            case 5 if not self.is_recent:
                block = {"logs": [{"transaction": self.key, "log": self.log}]}
            case _:
                raise ValueError
        number = self.block
        if self.is_recent:
            number = 0  # chosen later
            fields = [*block.get("header", ()), HeaderField.TIMESTAMP.name]
            block["header"] = list(dict.fromkeys(fields))
        data = {str(registry.source): {f"block:{number}": block}}
        return {"destinationChainId": str(registry.destination), "data": data}


def look_up(
    request: HttpRequest, sender: str, data: str, routes: Routes, limits: BatchLimits
) -> HttpResponse:
    """Answer at a URL with `{sender}` and `{data}`. The sender is ignored, as in a body."""
    del sender
    text = data.lower().removesuffix(SUFFIX)
    return _respond(request, lambda: text, routes, limits)


def post_lookup(request: HttpRequest, routes: Routes, limits: BatchLimits) -> HttpResponse:
    def read_data() -> str:
        return read_body(LookupBody, json_body(request, MAX_BYTES)).data.lower()

    return _respond(request, read_data, routes, limits)


def _respond(
    request: HttpRequest, read_data: Callable[[], str], routes: Routes, limits: BatchLimits
) -> HttpResponse:
    """The answer, or an error with a `message` as well, which ERC-3668 names."""
    try:
        content, end = _cached_answer(request, read_data(), routes, limits)
    except RefusalError as refusal:
        return error_response(refusal, message=refusal.sentence)
    seconds = max(int(end - time.time()), 0)
    headers = {
        "Cache-Control": f"public, max-age={seconds}, immutable",
        "ETag": f'"{hashlib.sha256(content).hexdigest()[:32]}"',
    }
    response = HttpResponse(content, content_type="application/json", headers=headers)
    conditional = get_conditional_response(request, etag=headers["ETag"], response=response)
    return cast("HttpResponse", conditional)


def _cached_answer(
    request: HttpRequest, data: str, routes: Routes, limits: BatchLimits
) -> tuple[bytes, float]:
    """The body of the answer, and the Unix time until which it may be cached."""
    registry, question = _read_question(data, routes)
    key = f"lookup-{hashlib.sha256(data.encode()).hexdigest()}"
    if cached := cache.get(key):
        return cast("tuple[bytes, float]", cached)
    refuse_over_quota(
        use_quota(f"lookups from {client_network(request)}", LIMIT_PER_MINUTE, MINUTE),
        LookupCode.LOOKUP_UNAVAILABLE,
        f"An IP address has {LIMIT_PER_MINUTE} lookups a minute, and yours has used them up.",
    )
    proof, seconds = _prove(registry, question, routes, limits)
    content = LookupResponse(data=f"0x{proof.hex()}").model_dump_json().encode()
    answer = content, time.time() + seconds
    cache.set(key, answer, seconds)
    return answer


def _read_question(data: str, routes: Routes) -> tuple[Registry, Question]:
    """What the call asks, and of which registry."""
    malformed = _unknown(f"The data is not a call of lookUp(uint256,address,{QUESTION}).")
    if not re.fullmatch(DATA_PATTERN, data):
        raise malformed
    call = bytes.fromhex(data[2:])
    function, arguments = call[: len(SELECTOR)], call[len(SELECTOR) :]
    if function not in {SELECTOR, RECENT_SELECTOR}:
        raise malformed
    try:
        words = decode(["uint256", "address", QUESTION], arguments)
    except DecodingError:
        raise malformed from None
    destination, address, question = words
    for registry in routes.registries.values():
        if registry.destination == destination and registry.address.lower() == address:
            is_recent = function == RECENT_SELECTOR
            return registry, Question(*question)._replace(is_recent=is_recent)
    raise _unavailable(f"Registry {address} on chain {destination} is not configured here.")


def _prove(
    registry: Registry, question: Question, routes: Routes, limits: BatchLimits
) -> tuple[bytes, int]:
    """The gateway's answer, and for how many seconds it may be cached."""
    try:
        content = question.batch(registry)
    except ValueError:
        sentence = f"No field has the number {question.key}, or no fact the kind {question.kind}."
        raise _unknown(sentence) from None
    try:
        batch = read_batch(content, routes, limits, needs_fee=False)
        refuse_blocks_beyond_head(batch.blocks, routes.limits)
        with read_chains(batch, routes, SECONDS) as (chains, queries):
            block, l1_block = question.block, None
            if question.is_recent:
                block, l1_block = recent_block(chains, registry, question.block)
                for query in queries:
                    query.block = block
            (result,) = make_witnesses(chains, registry.destination, queries, l1_block)
            seconds = _cache_seconds(chains, result, block, is_recent=question.is_recent)
    except NotProvableError as error:
        raise _unavailable(str(error)) from error
    except RefusalError as refusal:
        if refusal.retryable:
            raise _unavailable(refusal.sentence) from refusal
        raise _unknown(refusal.sentence) from refusal
    section, witness = result.proof, b""
    for event in result.events:
        section, witness = event.piece.section, event.piece.witness
    return encode(["bytes", "bytes"], [section, witness]), seconds


def _cache_seconds(
    chains: ChainReaders, result: RegistryWitness, number: int, *, is_recent: bool
) -> int:
    """As long as the block is old, since a young one may be reorganised, and while it is valid.

    A proof expires only on native routes, where half of the blocks left are counted, because the
    next ones may come faster. The proof of a recent block is cached until the next one.
    """
    source = result.registry.source
    block, head = chains.client(source).header(number), chains.head(source)
    seconds = min(time.time() - block.timestamp, DAY)
    pace = (head.timestamp - block.timestamp) / max(head.number - number, 1)
    if is_recent:
        seconds = min(pace, MINUTE)
    elif result.valid_until is not None:
        seconds = min(seconds, (result.valid_until - head.number) * pace / 2)
    return max(int(seconds), 0)


def _unknown(sentence: str) -> RefusalError:
    return RefusalError(LookupCode.QUESTION_UNKNOWN, sentence, path="data")


def _unavailable(sentence: str) -> RefusalError:
    return RefusalError(LookupCode.LOOKUP_UNAVAILABLE, sentence, headers=RETRY_SOON)
