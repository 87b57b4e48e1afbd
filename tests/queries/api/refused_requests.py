"""For each code of the API, a request that is refused with it."""

import json
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from django.db import OperationalError, connection
from django.test import Client, override_settings

from accounts import api_keys
from accounts.models import Account, ApiKey
from queries.api import estimating
from queries.chain.signer import Signer
from queries.held_threads import place_for_a_proof
from queries.models import Share
from queries.statuses import BatchStatus
from tests.explorer.on_record import ask_balances, prove
from tests.queries.api.served_api import (
    SEPOLIA,
    WALLET,
    ask,
    make_key,
    record_head,
    submit,
    submitted,
)
from tests.queries.api.signed_words import BLOCK, give, wait_for, word
from tests.queries.api.worked_batches import send_transaction, set_status
from tests.queries.schema.example_batches import (
    ADDRESS,
    BALANCE,
    SPECIFICATION,
    account_batch,
    batch,
    block_batch,
    webhook_batch,
    without,
)

Ask = Callable[[], Any]


def _unlike(content: object, **headers: str) -> Ask:
    return lambda: submit(make_key(), content, **headers)


def _posted(kind: str) -> Ask:
    return lambda: Client().post(
        "/submit-batch-query", "{}", content_type=kind, headers={"api-key": make_key()}
    )


def _with_key(key: str) -> Ask:
    return lambda: ask(key, "/api-key")


def _revoked() -> Any:
    key = make_key()
    account = Account.objects.get(address=WALLET)
    api_keys.revoke(account, ApiKey.objects.get().id)
    return submit(key, SPECIFICATION)


def _disabled() -> Any:
    key = make_key()
    Account.objects.update(is_active=False)
    return ask(key, "/batch-queries")


def _used_up() -> Any:
    key = make_key()
    with patch("accounts.auth.settings.REQUESTS_PER_MINUTE", 1):
        ask(key, "/batch-queries")
        return ask(key, "/batch-queries")


def _facts_used_up() -> Any:
    key = make_key()
    with patch("queries.intake.settings.FACTS_PER_DAY", 1):
        submit(key, account_batch({"props": ["NONCE"]}))
        return submit(key, account_batch({"props": ["BALANCE"]}))


def _more_than_a_day() -> Any:
    with patch("queries.intake.settings.FACTS_PER_DAY", 1):
        return submit(make_key(), account_batch({"props": ["NONCE", "BALANCE"]}))


def _beyond_head() -> Any:
    record_head(SEPOLIA, number=1, timestamp=1)
    return submit(make_key(), SPECIFICATION)


def _reused() -> Any:
    key, header = make_key(), {"idempotency-key": "one"}
    submit(key, SPECIFICATION, **header)
    return submit(key, account_batch({"props": ["NONCE"]}), **header)


def _without_database() -> Any:
    """It is lost after the key was looked at."""
    key = make_key()

    def fail(execute: Any, sql: str, *rest: Any) -> Any:
        if '"queries_' in sql:
            raise OperationalError("hunter2")
        return execute(sql, *rest)

    with connection.execute_wrapper(fail):
        return submit(key, SPECIFICATION)


def _estimated(key: str) -> Any:
    """In no time, in which no node answers."""
    with patch("queries.api.estimating.SECONDS", 0):
        return Client().post(
            "/estimate", SPECIFICATION, content_type="application/json", headers={"api-key": key}
        )


def _estimates_used_up() -> Any:
    key = make_key()
    with patch("queries.api.estimating.A_MINUTE", 1):
        _estimated(key)
        return _estimated(key)


def _busy() -> Any:
    with estimating._a_place(Account(pk=-1)), estimating._a_place(Account(pk=-2)):
        return _estimated(make_key())


def _cancelled(status: BatchStatus) -> Any:
    key = make_key()
    batch_id = submitted(key, SPECIFICATION)
    set_status(batch_id, status)
    if status == BatchStatus.IN_PROGRESS:
        sent = send_transaction(batch_id, mined=False)
        Share.objects.create(transaction=sent, batch_id=batch_id, most=f"{1:064x}")
    return Client().post(f"/batch-queries/{batch_id}/cancel", headers={"api-key": key})


def _proof_of(batch_id: str) -> Any:
    return ask(make_key(), f"/batch-queries/{batch_id}/proof")


def _proof_of_a_rejected_one() -> Any:
    batch_id = submitted(make_key(), SPECIFICATION)
    set_status(batch_id, BatchStatus.REJECTED, error_sentence="No.", error_retryable=False)
    return _proof_of(batch_id)


def _proof_that_is_not_kept() -> Any:
    """Of facts that no transaction of ours has proven."""
    batch_id = ask_balances()
    prove(batch_id)
    return _proof_of(batch_id)


def _proofs_busy() -> Any:
    batch_id = submitted(make_key(), SPECIFICATION)
    with place_for_a_proof(), place_for_a_proof():
        return _proof_of(batch_id)


def _contradicted() -> Any:
    wait_for(BLOCK)
    give(word())
    return give(word(block_hash=bytes(32)))


def _unwanted() -> Any:
    wait_for(BLOCK)
    return give(word(block=BLOCK - 1))


def _attestations_used_up() -> Any:
    with patch("queries.api.attestation_views.A_MINUTE", 1):
        give({})
        return give({})


def _over_http() -> Any:
    with override_settings(SECURE_SSL_REDIRECT=True):
        return Client().get("/batch-queries", headers={"api-key": make_key()})


def _replayed(key: str) -> Any:
    return Client().post("/webhook-deliveries/x/replay", headers={"api-key": key})


def _replays_used_up() -> Any:
    with patch("queries.webhooks.REPLAYS_AN_HOUR", 1):
        _replayed(make_key())
        return _replayed(make_key())  # another key of the same account


def _broken() -> Any:
    with patch("queries.reading.batches.batches_of", side_effect=RuntimeError("hunter2")):
        return Client(raise_request_exception=False).get(
            "/batch-queries", headers={"api-key": make_key()}
        )


MANY = {f"0x{number:040x}": BALANCE for number in range(601)}
HEADERS = {"url": "https://example.org/hook"}
REFUSED: dict[str, Ask] = {
    "key_missing": lambda: Client().get("/batch-queries"),
    "key_unknown": _with_key("tct_nonsense"),
    "key_revoked": _revoked,
    "account_disabled": _disabled,
    "too_many_requests": _used_up,
    "unavailable": _without_database,
    "fault_of_ours": _broken,
    "host_unknown": lambda: Client().get("/batch-queries", headers={"host": "other.example"}),
    "https_needed": _over_http,
    "nothing_here": lambda: Client().get(
        "/chain-connections/x", headers={"accept": "text/json,application/json"}
    ),
    "method_not_allowed": lambda: Client().get("/submit-batch-query"),
    "bad_request": lambda: Client().get("/batch-queries", {f"a{n}": "" for n in range(1_001)}),
    "body_too_large": _unlike("{" + 200_000 * " "),
    "content_type_unsupported": _posted("text/plain"),
    "not_json": _unlike("{'"),
    "nested_too_deeply": _unlike(40 * "[" + 40 * "]"),
    "duplicate_key": _unlike('{"fee": "0", "fee": "1"}'),
    "text_not_storable": _unlike('{"fee": "\\u0000"}'),
    "wrong_type": _unlike(batch(5)),
    "missing_field": _unlike(without(json.loads(SPECIFICATION), "fee")),
    "unknown_field": _unlike(account_batch(BALANCE | {"prop": []})),
    "number_malformed": _unlike(batch({"-1": {}})),
    "chain_unsupported": _unlike(batch({}, destinationChainId="5")),
    "route_unsupported": _unlike(batch({"137": {"block:5": {"header": ["NONCE"]}}})),
    "fee_malformed": _unlike(batch({}, fee="1.5")),
    "fee_missing": lambda: Client().post(
        "/submit-request",
        json.dumps({"destination_chain_id": "10", "data": {}}),
        content_type="application/json",
        headers={"api-key": make_key()},
    ),
    "fee_too_low": _unlike(
        batch({"10": {"block:5": {"header": ["NONCE"]}}}, destinationChainId="10")
    ),
    "selector_malformed": _unlike(batch({"11155111": {"latest": {}}})),
    "block_beyond_head": _beyond_head,
    "account_malformed": _unlike(account_batch(BALANCE, ADDRESS[:-1])),
    "unknown_prop": _unlike(account_batch({"props": ["balance"]})),
    "unknown_header_field": _unlike(block_batch({"header": ["HASH"]})),
    "slot_malformed": _unlike(account_batch({"slots": ["1"]})),
    "webhook_malformed": _unlike(webhook_batch({"url": "ftp://example.org"})),
    "nothing_asked": _unlike(batch({})),
    "too_many_blocks": _unlike(
        batch({"11155111": {f"block:{n}": {"header": ["NONCE"]} for n in range(601)}})
    ),
    "too_many_accounts": _unlike(block_batch({"accounts": MANY})),
    "too_many_slots": _unlike(account_batch({"slots": [hex(n) for n in range(601)]})),
    "too_many_facts": _facts_used_up,
    "more_facts_than_a_day": _more_than_a_day,
    "too_many_webhook_headers": _unlike(
        webhook_batch(HEADERS | {"headers": {f"x-{n}": "" for n in range(11)}})
    ),
    "webhook_headers_too_large": _unlike(webhook_batch(HEADERS | {"headers": {"x": 4_096 * "a"}})),
    "idempotency_key_malformed": _unlike(SPECIFICATION, **{"idempotency-key": "a b"}),
    "idempotency_key_reused": _reused,
    "chain_unavailable": lambda: _estimated(make_key()),
    "too_many_estimates": _estimates_used_up,
    "estimates_busy": _busy,
    "batch_unknown": lambda: ask(make_key(), "/batch-query-status", batchQueryId="x"),
    "batch_ended": lambda: _cancelled(BatchStatus.DONE),
    "batch_signed": lambda: _cancelled(BatchStatus.IN_PROGRESS),
    "batch_not_done": lambda: _proof_of(submitted(make_key(), SPECIFICATION)),
    "batch_rejected": _proof_of_a_rejected_one,
    "proof_unavailable": _proof_that_is_not_kept,
    "proofs_busy": _proofs_busy,
    "attestation_malformed": lambda: give({}),
    "attestation_untrusted": lambda: give(word(Signer(32 * "63"))),
    "attestation_contradicted": _contradicted,
    "attestation_unwanted": _unwanted,
    "too_many_attestations": _attestations_used_up,
    "delivery_unknown": lambda: _replayed(make_key()),
    "too_many_replays": _replays_used_up,
    "parameter_malformed": lambda: ask(make_key(), "/batch-queries", limit="x"),
}
