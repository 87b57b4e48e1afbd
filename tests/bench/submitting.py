"""submit_1, submit_100, submit_500: the time to store a batch of so many accounts.

The submission runs in this process through all of the service's middleware, so that its SQL
statements can be counted. The reference is the rows alone: a batch and its queries, stored in one
equally durable transaction, without authentication and without checks.

Statements are counted as Django does. SQLite prepares one INSERT and runs it for each row; that
counts as one statement, and a remark says for how many rows it ran.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from time import perf_counter
from types import ModuleType

from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import timezone
from ulid import ULID

from accounts.models import Account
from explorer.wiring import LIMITS
from queries.api import endpoints as api
from queries.client.tacitus import Ask, batch_of
from queries.config.registries import Registry, RegistryKind
from queries.config.routes import Chain, NodeAddress, Routes
from queries.database.durable import durably
from queries.models import Batch, Query
from queries.proving.keccak import keccak256
from tests.bench.command import BenchFailed
from tests.bench.database import new_key, scratch_database
from tests.bench.past import FIRST_BLOCK, REGISTRY
from tests.bench.rows import Bench, Row

SIZES = {"submit_1": 1, "submit_100": 100, "submit_500": 500}
CHAIN = 1
# The node is never asked.
ROUTES = Routes(
    {CHAIN: Chain(CHAIN, "Ethereum", (NodeAddress("http://127.0.0.1:1"),), free=True)},
    {(CHAIN, CHAIN): Registry(RegistryKind.NATIVE, CHAIN, CHAIN, REGISTRY)},
)
WARM_UP = 3
UNLIMITED = {"REQUESTS_PER_MINUTE": 10**9, "FACTS_PER_DAY": 10**9}
MANY_TIMES = re.compile(r"(\d{2,}) times: INSERT")  # Django's note of executemany


def submitting(bench: Bench) -> Iterator[Row]:
    addresses = ModuleType("addresses_of_the_bench")
    vars(addresses)["urlpatterns"] = api.addresses(ROUTES, LIMITS)
    with scratch_database(), override_settings(ROOT_URLCONF=addresses, **UNLIMITED):
        client, key = Client(SERVER_NAME=settings.SITE_HOST), new_key()
        for name, size in SIZES.items():
            if name in bench.wanted:
                bench.say(f"batches of {size} {_accounts(size)}")
                accounts = [
                    f"0x{keccak256(b'account %d' % number)[:20].hex()}" for number in range(size)
                ]
                sides = (partial(_submit, client, key, accounts), partial(_store, accounts))
                yield _row(bench, name, size, sides)


def _row(bench: Bench, name: str, size: int, sides: Sequence[Callable[[], None]]) -> Row:
    for _ in range(WARM_UP):
        for side in sides:
            side()
    statements = [_statements(side) for side in sides]
    times = [[_milliseconds(side) for side in sides] for _ in range(bench.sizes.submissions)]
    ours, reference = (median(column) for column in zip(*times, strict=True))
    run_often = [found[1] for statement in statements[0] if (found := MANY_TIMES.match(statement))]
    return Row(
        name,
        f"submitting a batch of {size} {_accounts(size)}, beside its rows alone",
        ours,
        reference,
        "ms",
        remarks=(
            f"{len(statements[0])} SQL statements; the rows alone take {len(statements[1])}",
            *(
                f"one of ours is an INSERT that SQLite prepares once and runs for {rows} rows"
                for rows in run_often
            ),
        ),
        figures={"statements": len(statements[0]), "statements_of_the_rows": len(statements[1])},
    )


def _accounts(size: int) -> str:
    return "account" if size == 1 else "accounts"


def _submit(client: Client, key: str, accounts: Sequence[str]) -> None:
    asked = Ask(CHAIN, block=FIRST_BLOCK, accounts=accounts, props=["BALANCE"])
    answer = client.post(
        "/submit-batch-query",
        batch_of(CHAIN, asked),
        content_type="application/json",
        headers={"api-key": key},
        secure=settings.SECURE_SSL_REDIRECT,
    )
    if answer.status_code != 200:
        raise BenchFailed(f"A submission is answered with {answer.status_code}.")


def _store(accounts: Sequence[str]) -> None:
    now = timezone.now()
    batch = Batch(
        id=str(ULID()), owner=Account.objects.get(), destination=CHAIN, fee=f"{0:064x}",
        submitted=now, look_again=now, request_digest=64 * "0", asked_queries=len(accounts),
        asked_blocks=1,
    )  # fmt: skip
    queries = [
        Query(
            batch=batch, place=place, source=CHAIN, block=FIRST_BLOCK, account=account, props=2,
            initial_state_began=now,
        )
        for place, account in enumerate(accounts)
    ]  # fmt: skip
    with durably():
        batch.save(force_insert=True)
        Query.objects.bulk_create(queries)


def _statements(side: Callable[[], None]) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        side()
    return [str(query["sql"]) for query in captured.captured_queries]


def _milliseconds(side: Callable[[], None]) -> float:
    begin = perf_counter()
    side()
    return (perf_counter() - begin) * 1_000
