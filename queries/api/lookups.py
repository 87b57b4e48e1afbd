"""GET and POST /ccip, the gateway of FactsLookup (ERC-3668). No API key is needed.

Clients ask the next gateway after a 5xx, and some give up after a 4xx. So only what no gateway
could answer is refused with a 4xx.
"""

import hashlib
import re
import time
from collections.abc import Sequence
from typing import cast

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from eth_abi.abi import encode
from pydantic import ConfigDict, Field

from accounts.http.errors import BodyCode, RefusalError, error_response
from accounts.http.rate_limits import client_network, refuse_over_quota, use_quota
from accounts.wording import DAY, MINUTE
from queries.api.endpoint import Parameter, endpoint, path_parameter
from queries.api.lookup_questions import DATA_PATTERN, Question, question_unknown, read_question
from queries.api.request_parts import json_body
from queries.api.responses import ApiModel
from queries.chain import ChainError
from queries.error_codes import RETRY_SOON, LookupCode, RequestCode
from queries.intake.beyond_head import refuse_blocks_beyond_head
from queries.models import Query
from queries.planning.on_request import chain_readers
from queries.planning.readers import ChainReaders
from queries.planning.witness import NotProvableError, RegistryWitness, make_witnesses, recent_block
from queries.schema.batch_checks import BatchLimits, read_batch
from queries.schema.bodies import Body, read_body
from queries.sources import Registry, Routes

LOOKUPS_PER_MINUTE = 120  # for an IP address; answers from the cache are free
TIMEOUT_SECONDS = 10.0
MAX_BODY_BYTES = 4_000
SUFFIX = ".json"
CALL_DATA_MEANING = "The `callData` of the `OffchainLookup`; errors call it `data`."
MAX_REASON_LENGTH = 300
NOT_IN_REASON_PHRASE = re.compile("[^ -~]+")  # line ends would begin a header


def _lookup_unavailable(sentence: str) -> RefusalError:
    return RefusalError(LookupCode.LOOKUP_UNAVAILABLE, sentence, headers=RETRY_SOON)


class LookupBody(Body):
    """The body of a client's request to a gateway whose URL has no `{data}`."""

    model_config = ConfigDict(extra="ignore")

    data: str = Field(
        pattern=f"^{DATA_PATTERN}$", description="The `callData` of the `OffchainLookup`."
    )
    sender: str = Field(default="", description="Ignored: `data` names the registry.")


class LookupResponse(ApiModel):
    data: str = Field(description="What the client passes to the callback.", examples=["0x00"])


@endpoint(
    "GET",
    "/ccip/{sender}/{call_data}",  # not {data}: generated clients of fetch call the response so
    "A proof of one fact for FactsLookup (ERC-3668); viem and ethers fetch it automatically. "
    "A gateway's URL is `/ccip/{sender}/{data}`, and may end in `.json`.",
    parameters=(
        Parameter("sender", "Ignored.", {"type": "string"}, location="path", required=True),
        path_parameter("call_data", CALL_DATA_MEANING, f"^{DATA_PATTERN}$"),
    ),
    own_errors=tuple(LookupCode),
    needs_key=False,
    file=LookupResponse,
)
def get_lookup(
    request: HttpRequest, sender: str, call_data: str, routes: Routes, limits: BatchLimits
) -> HttpResponse:
    """Answer at a URL with `{sender}` and `{data}`. The sender is ignored, as in a body."""
    del sender
    return _respond(request, call_data.lower().removesuffix(SUFFIX), routes, limits)


@endpoint(
    "POST",
    "/ccip",
    "The same for URLs without `{data}`.",
    body=LookupBody,
    own_errors=(*BodyCode, *LookupCode, RequestCode.MISSING_FIELD, RequestCode.WRONG_TYPE),
    needs_key=False,
    file=LookupResponse,
)
def post_lookup(request: HttpRequest, routes: Routes, limits: BatchLimits) -> HttpResponse:
    body = read_body(LookupBody, json_body(request, MAX_BODY_BYTES))
    return _respond(request, body.data.lower(), routes, limits)


def _respond(request: HttpRequest, data: str, routes: Routes, limits: BatchLimits) -> HttpResponse:
    """Return the proof, or an error. The error's sentence is also in `message` for ethers
    (ERC-3668), and in the reason phrase for viem (RFC 9112).
    """
    try:
        content, expires_at = _cached_answer(request, data, routes, limits)
    except RefusalError as refusal:
        error = error_response(refusal, message=refusal.sentence)
        error.reason_phrase = NOT_IN_REASON_PHRASE.sub(" ", refusal.sentence)[:MAX_REASON_LENGTH]
        return error
    seconds = max(int(expires_at - time.time()), 0)
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
    registry, question = read_question(data, routes)
    key = f"lookup-{hashlib.sha256(data.encode()).hexdigest()}"
    if entry := cache.get(key):
        return cast("tuple[bytes, float]", entry)
    refuse_over_quota(
        use_quota(f"lookups from {client_network(request)}", LOOKUPS_PER_MINUTE, MINUTE),
        LookupCode.LOOKUP_UNAVAILABLE,
        f"An IP address has {LOOKUPS_PER_MINUTE} lookups a minute, and yours has used them up.",
    )
    proof, seconds = _make_answer(registry, question, routes, limits)
    content = LookupResponse(data=f"0x{proof.hex()}").model_dump_json().encode()
    answer = content, time.time() + seconds
    cache.set(key, answer, seconds)
    return answer


def _make_answer(
    registry: Registry, question: Question, routes: Routes, limits: BatchLimits
) -> tuple[bytes, int]:
    """The gateway's answer with new proofs, and for how many seconds it may be cached."""
    content = question.batch_request(registry)
    try:
        batch = read_batch(content, routes, limits, needs_fee=False)
        refuse_blocks_beyond_head(batch.blocks, routes.limits)
        with chain_readers(batch, routes, TIMEOUT_SECONDS) as (chains, queries):
            result, seconds = _prove(chains, registry, question, queries)
    except NotProvableError as error:
        if error.is_permanent:
            raise RefusalError(LookupCode.FACT_NOT_PROVABLE, str(error)) from error
        raise _lookup_unavailable(str(error)) from error
    except RefusalError as refusal:
        if refusal.retryable:
            raise _lookup_unavailable(refusal.sentence) from refusal
        raise question_unknown(refusal.sentence) from refusal
    section, witness = result.proof, b""
    for event in result.event_witnesses:
        section, witness = event.piece.section, event.piece.witness
    return encode(["bytes", "bytes"], [section, witness]), seconds


def _prove(
    chains: ChainReaders, registry: Registry, question: Question, queries: Sequence[Query]
) -> tuple[RegistryWitness, int]:
    """The proof, and for how many seconds it may be cached."""
    block, l1_block = question.block, None
    try:
        if question.is_recent:
            block, l1_block = recent_block(chains, registry, question.block)
            for query in queries:
                query.block = block
        (result,) = make_witnesses(chains, registry.destination, queries, l1_block)
        return result, _cache_seconds(chains, result, block, is_recent=question.is_recent)
    except ChainError as error:
        if error.retryable:
            raise
        raise NotProvableError(str(error), is_permanent=True) from error


def _cache_seconds(
    chains: ChainReaders, result: RegistryWitness, block: int, *, is_recent: bool
) -> int:
    """The seconds for which a proof may be cached.

    As many as its block is old, at most a day, because a young block may be reorganised. On a
    native route, at most half of the time for which the proof stays valid, because the next blocks
    may come faster. For a recent block, until the next block, at most a minute.
    """
    source = result.registry.source
    header, head = chains.client(source).header(block), chains.head(source)
    seconds = min(time.time() - header.timestamp, DAY)
    block_seconds = (head.timestamp - header.timestamp) / max(head.number - block, 1)
    if is_recent:
        seconds = min(block_seconds, MINUTE)
    elif result.valid_until is not None:
        seconds = min(seconds, (result.valid_until - head.number) * block_seconds / 2)
    return max(int(seconds), 0)
