"""The server that attestations are posted to may answer anything."""

import math
import time
from contextlib import suppress

import pytest

from queries.attestations.post import AttestationClient, AttestationPostError
from queries.config.limits import Limits
from queries.sources.attested import AttestedRegistry
from tests.rigs.stub_node import INVALID_ANSWERS, stub_node

pytestmark = pytest.mark.no_database
REGISTRY = AttestedRegistry(1, 2, f"0x{1:040x}", signers=(), threshold=0)
ROUTE: dict[str, object] = {
    "originChainId": "1", "destinationChainId": "2", "registry": REGISTRY.address,
}  # fmt: skip


@pytest.mark.parametrize("kind", ["a stall", "a body byte by byte", "an endless body", "no JSON"])
def test_a_server_that_does_not_answer_properly_is_given_up_in_time(kind: str) -> None:
    begin = time.monotonic()
    with stub_node(INVALID_ANSWERS[kind]) as address:
        server = AttestationClient(address, Limits(request_timeout=0.5))
        with suppress(AttestationPostError):  # some of these answers are accepted
            server.submit({"signature": "0x"})
    assert time.monotonic() < begin + 15


@pytest.mark.parametrize(
    "wanted",
    [
        1, [1], [{}], [ROUTE], [ROUTE | {"blocks": 1}], [ROUTE | {"blocks": [{}]}],
        [ROUTE | {"blocks": ["x"]}], [ROUTE | {"blocks": [math.inf]}],
    ],
)  # fmt: skip
def test_a_malformed_list_of_wanted_blocks_is_an_error(
    wanted: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = AttestationClient("http://127.0.0.1:1", Limits())
    monkeypatch.setattr(server, "_request", lambda *_: {"wanted": wanted})
    with pytest.raises(AttestationPostError):
        server.wanted_blocks(REGISTRY)
