"""`prune` deletes old batches, and `forget` an account; facts on chain stay."""

import sys
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from eth_account import Account as Key

from accounts.keys import manage
from accounts.models import Account, ApiKey
from accounts.wallets import Wallet
from queries.database.clock import shared_now
from queries.engines import PROVE
from queries.models import Batch, BlockJob, Query, SentTransaction, WebhookAttempt, WebhookPost
from queries.prover.handlers import work_once
from queries.proving.witnesses import AccountField
from queries.transactions.destination_reorgs import finalize_or_reopen
from tests.queries.prover.bundles import checked_proof
from tests.queries.prover.service import CHAIN_ID, HOLDER, Service, post_all

pytestmark = pytest.mark.django_db(transaction=True)

OTHER = "0x69030ef8C2744b37a096fAf2A4C78B4dAec1308b"
BALANCE = AccountField.BALANCE
OLD = timedelta(days=91)


def run(*command: str) -> str:
    out = StringIO()
    call_command(*command, stdout=out, stderr=StringIO())
    return out.getvalue()


def prune(*options: str) -> str:
    return run("prune", "--older-than", "90d", *options)


def prove(service: Service, block: int, account: str = HOLDER, **options: Any) -> str:
    entry = {"accounts": {account: {"props": ["BALANCE"]}}}
    batch = service.submit({str(CHAIN_ID): {f"block:{block}": entry}}, **options)
    service.work(batch)
    return batch


def finalize(service: Service) -> None:
    service.mine(70)
    context = service.context()
    while work_once(PROVE, context):
        pass
    finalize_or_reopen(context.lane(CHAIN_ID))


def age(*batches: str) -> None:
    """Date the ends of these batches, and all signatures, back by 91 days."""
    past = shared_now() - OLD
    Batch.objects.filter(pk__in=batches).update(ended_at=past)
    SentTransaction.objects.update(signed_at=past)


def exists(service: Service, batch: str) -> bool:
    response = service.client.get(
        "/batch-query-status", {"batchQueryId": batch}, headers={"api-key": service.key}
    )
    return bool(response.status_code == 200)


def counts() -> list[int]:
    models = (Batch, Query, WebhookPost, SentTransaction, BlockJob)
    return [model.objects.count() for model in models]


def test_old_batches_are_deleted_with_rows_that_only_they_needed(service: Service) -> None:
    """A newer batch of the same block stays with its proof; so does the last nonce."""
    block = service.head() - 2
    webhook = {"url": "https://receiver.example/", "headers": {"X-Secret": "hunter2"}}
    first = prove(service, block - 1, webhook=webhook)
    old, new = prove(service, block), prove(service, block, OTHER)
    last = prove(service, block - 2)
    waiting = service.submit(
        {str(CHAIN_ID): {f"block:{service.head() + 200}": {"header": ["TIMESTAMP"]}}}
    )
    age(first, old, last)
    nothing = "0 batches, 0 queries, 0 webhooks, 0 transactions, 0 facts, 0 proofs, 0 block jobs"
    assert prune() == f"Deleted {nothing}.\n"  # a reorg may still remove their transactions
    finalize(service)
    assert "delete 2 batches with 2 queries" in prune("--dry-run")  # one has a webhook
    post_all(service)
    WebhookPost.objects.update(due_at=None)  # given up
    before = counts()
    assert "delete 3 batches with 3 queries" in prune("--dry-run")
    assert counts() == before
    highest = SentTransaction.objects.order_by("-nonce")[0]
    rows = "3 batches, 3 queries, 1 webhook, 1 transaction, 3 facts, 3 proofs, 1 block job"
    assert prune() == f"Deleted {rows}.\n"
    assert prune() == f"Deleted {nothing}.\n"
    assert not WebhookAttempt.objects.exists()
    assert not any(exists(service, batch) for batch in (first, old, last))
    assert SentTransaction.objects.filter(pk=highest.pk).exists()
    assert checked_proof(service, new).blocks
    for number in (block - 2, block - 1, block):
        word = service.reads.account_field(bytes.fromhex(HOLDER[2:]), number, BALANCE)
        assert word
        assert int.from_bytes(word) == service.balance(HOLDER, number)
    assert service.status(waiting)["queryStatus"] == "IN_PROGRESS"
    repeated = prove(service, block - 1)  # its facts are on chain, and cost nothing
    assert service.status(repeated)["queryStatus"] == "DONE"


def test_pruning_does_not_resume_sending(service: Service) -> None:
    """The transaction that lost its nonce to another program stays until the operator's command."""
    batches = [prove(service, service.head() - distance) for distance in (3, 2)]
    finalize(service)
    first = SentTransaction.objects.order_by("nonce")[:1]
    given_up = {"final": False, "mined_block": None, "mined_hash": "", "nonce_used_block": 1}
    SentTransaction.objects.filter(pk__in=first.values("pk")).update(**given_up)
    age(*batches)
    prune()
    assert not Batch.objects.exists()
    run("resume_sending", str(CHAIN_ID), "--yes")
    with pytest.raises(CommandError, match="is not stopped"):
        run("resume_sending", str(CHAIN_ID), "--yes")


def test_a_block_job_that_is_pruned_while_a_batch_joins_it_is_created_again(
    service: Service,
) -> None:
    block = service.head() - 2
    prove(service, block)
    entry = {"accounts": {OTHER: {"props": ["BALANCE"]}}}
    batch = service.submit({str(CHAIN_ID): {f"block:{block}": entry}})
    pruned = list[str]()

    def prune_now(execute: Any, sql: str, *arguments: Any) -> Any:
        """Act as a `prune` that commits after the job was found to exist."""
        result = execute(sql, *arguments)
        if 'INTO "queries_blockjob"' in sql and not pruned:
            pruned.append(sql)
            with connection.cursor() as cursor:
                cursor.execute("UPDATE queries_blockjob SET block = block + 1000")
        return result

    with connection.execute_wrapper(prune_now):
        service.work(batch)
    assert pruned
    assert service.status(batch)["queryStatus"] == "DONE"


def test_an_account_is_deleted_once_none_of_its_rows_can_change(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    block, owner = service.head() - 2, Account.objects.get()
    stranger, _ = Account.objects.get_or_create_for_wallet(Wallet(Key.create().address))
    other = replace(service, key=manage.reveal(manage.add_key(stranger, "Other")) or "")
    webhook = {"url": "https://receiver.example/", "headers": {"X-Secret": "hunter2"}}
    prove(service, block, webhook=webhook)
    kept = prove(other, block)
    future = {f"block:{service.head() + 200}": {"header": ["TIMESTAMP"]}}
    service.submit({str(CHAIN_ID): future}, webhook=webhook)
    monkeypatch.setattr(sys, "stdin", StringIO("n\n"))
    with pytest.raises(CommandError, match=r"^Nothing was deleted\.$"):
        run("forget", owner.owner_name)
    assert service.ask({str(CHAIN_ID): future}).status_code == 200
    with pytest.raises(CommandError, match="1 batch must become final"):
        run("forget", owner.owner_name, "--yes")
    assert service.ask({str(CHAIN_ID): future}).status_code == 401
    assert not WebhookPost.objects.exists()
    assert "hunter2" not in str(list(Batch.objects.values_list("webhook_url", "webhook_headers")))
    finalize(service)
    assert run("forget", owner.owner_name, "--yes") == f"{owner} is deleted.\n"
    assert list(Account.objects.all()) == [stranger]
    assert ApiKey.objects.get().owner == stranger
    assert checked_proof(other, kept).blocks
    with pytest.raises(CommandError, match=f"There is no account of {owner}"):
        run("forget", owner.owner_name, "--yes")
