"""What nobody may read is in nothing that a whole installation writes, shows, answers or sends."""

import base64
import json
import secrets
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import requests
from eth_account import Account as Key

from queries.chain.local_node import LocalNode, local_node
from tests.attesting import FINAL, OF_THE_ROUTE, SOURCE, attested_route, attester
from tests.commands import Manage
from tests.installation import HOLDER, Installation, Told, installation
from tests.local_chain import CHAIN_ID, SIGNER_KEY
from tests.own_database import own_database
from tests.processes import processes_watched
from tests.queries.receiver import Receiver, receiver
from tests.raw_database import all_of_it, change
from tests.served import served
from tests.signed_in import signed_in

NODE, DEAD_NODE, BROKER, SECRET_KEY, PASSWORD, ATTESTER, TOKEN, HEADER, DATABASE, METRICS = (
    secrets.token_hex(32) for _ in range(10)
)
FORMER_KEY = secrets.token_hex(32)
OPERATOR = Key.create()
ITERATIONS = 1_000  # of a keystore, which is no secret's here


def nodes(real: str) -> list[str]:
    """One that never answers, and the real one under an address with a key in it."""
    return [f"http://someone:{DEAD_NODE}@127.0.0.1:1/{DEAD_NODE}", f"{real}/?key={NODE}"]


def speaking_of(source: LocalNode) -> Callable[[LocalNode], str]:
    """The route by which ATTESTER's word on that chain counts."""
    address = Key.from_key(ATTESTER).address
    limits = "[limits]\nquorum_wait = 2\nretry_longest = 2\n"
    route = partial(attested_route, source, nodes(source.url), signer=address)
    return lambda destination: f"{limits}{route(destination)}"


@pytest.fixture(scope="module")
def variables() -> dict[str, str]:
    keystore = Key.encrypt(
        bytes.fromhex(SIGNER_KEY[2:]), PASSWORD, kdf="pbkdf2", iterations=ITERATIONS
    )
    return {
        "LOG_LEVEL": "DEBUG",
        "SECRET_KEY": SECRET_KEY,
        "FORMER_SECRET_KEYS": FORMER_KEY,
        "METRICS_TOKEN": METRICS,
        "OPERATORS": OPERATOR.address,
        "SIGNER_KEY": "",
        "SIGNER_KEYSTORE": json.dumps(keystore),
        "SIGNER_PASSWORD": PASSWORD,
        "ATTESTER_KEY": ATTESTER,
        "PROVER_ENGINE": "CELERY",
        "CELERY_BROKER": f"amqp://someone:{BROKER}@127.0.0.1:1//",
        "WEBHOOKS_TO_PRIVATE": "1",
    }


@pytest.mark.either_database
@pytest.mark.django_db
def test_no_secret_is_anywhere(
    repository: Path, tmp_path: Path, manage: Manage, variables: dict[str, str]
) -> None:
    """Also of a signer of an attested registry, which speaks for blocks of another chain."""
    written: dict[str, str] = {}
    with (
        own_database(tmp_path, "secrets") as database,
        processes_watched() as processes,
        receiver(500, 200) as hook,
        local_node("--chain-id", str(SOURCE)) as source,
        installation(
            repository,
            tmp_path,
            manage,
            Told(nodes, more=speaking_of(source)),
            **(variables := variables | {"DATABASE_URL": database}),
        ) as it,
        attester(repository, tmp_path, it.address, **variables),
    ):
        own = {"DEVELOPMENT": "1", "ROUTES_FILE": str(tmp_path / "routes.toml"), **variables}
        secret = _as(it.key, it)("/webhook-secret").json()["secret"]
        batches = [
            _submitted(it, hook.url, it.node),
            _submitted(it, "http://127.0.0.1:1/", it.node),
            _submitted(it, hook.url, source, SOURCE),
        ]
        for batch in batches:
            _until_done(it, batch)
        _until(lambda: len(hook.got) > 2)
        for command in ("check_setup", f"attest {OF_THE_ROUTE} --block 1"):
            ended = manage(*command.split(), **own)
            written[command] = ended.stdout + ended.stderr
        assert '"signature"' in written[command]
        written |= _answers_to_strangers(it, batches)
        written |= _answers_to_operators(it, batches[0])
        written |= _faults(it, database, batches[0])
        written["webhooks"] = _sent(hook)
        kept = dict(all_of_it(database))
    assert {"manage.py serve", "manage.py run_prover", "manage.py attest"} <= _commands(processes)
    written["processes"] = "\n".join(processes)
    written |= _a_database_that_is_gone(repository, tmp_path)
    for name in ("log", "prover", "attester"):
        written[name] = (tmp_path / name).read_text()
    assert '"signature"' in written["attester"]
    assert "Traceback" in written["log"]
    assert not _found(written, it.key, secret, TOKEN, HEADER)
    addresses = [each.url.removeprefix("http://") for each in (it.node, source)]
    assert not [name for name, text in written.items() if any(each in text for each in addresses)]
    # That is known to be looked for: its receiver has what it asked for.
    assert _found({"hook": str(hook.got)}, HEADER)
    # It keeps what it sends, and none of what it signs with.
    assert not _found(kept, it.key, secret)
    assert _found(kept, HEADER)


@pytest.mark.no_database
@pytest.mark.parametrize("name", ["", "a", "an"])
def test_a_secret_is_looked_for_as_headers_pack_it_behind_any_name(name: str) -> None:
    packed = base64.b64encode(f"{name}:{PASSWORD}".encode()).decode()
    assert _found({"header": f"Authorization: Basic {packed}"}) == [("header", PASSWORD[:8])]
    bare = base64.b64encode(name.encode() + bytes.fromhex(SECRET_KEY)).decode()
    assert _found({"file": bare}) == [("file", SECRET_KEY[:8])]


def _found(written: dict[str, str], *more: str) -> list[tuple[str, str]]:
    """Where which secret begins; its first half alone would already be too much."""
    every = [NODE, DEAD_NODE, BROKER, SECRET_KEY, PASSWORD, ATTESTER, DATABASE, METRICS, *more]
    every += [FORMER_KEY, SIGNER_KEY.removeprefix("0x")]
    return [
        (place, secret[:8])
        for place, text in written.items()
        for secret in every
        if any(form in text for form in _forms(secret))
    ]


def _forms(secret: str) -> Iterator[str]:
    """As it is, in capitals, as a number, and as headers and files pack it."""
    begin = secret[:30] if secret.startswith("tct_") else secret[: len(secret) // 2]
    yield begin
    yield begin.upper()
    yield from _packed(begin.encode())
    if set(secret) <= set("0123456789abcdef"):
        yield str(int(secret, 16))
        content = bytes.fromhex(begin)
        yield repr(content)[2:-1]
        yield from _packed(content)


def _packed(content: bytes) -> Iterator[str]:
    """In base64, wherever it stands among other bytes: three of them are packed together."""
    for skipped in range(3):
        rest = content[skipped:]
        yield base64.b64encode(rest[: len(rest) // 3 * 3]).decode()


def _as(key: str, it: Installation) -> Callable[..., requests.Response]:
    def ask(path: str, **parameters: str) -> requests.Response:
        return requests.get(it.address + path, parameters, headers={"api-key": key}, timeout=30)

    return ask


def _submitted(it: Installation, hook: str, node: LocalNode, chain: int = CHAIN_ID) -> str:
    block = int(node.rpc.ask("eth_blockNumber"), 16)
    block -= FINAL if chain == SOURCE else 0
    entry = {"accounts": {HOLDER: {"props": ["BALANCE"]}}}
    batch = {
        "destinationChainId": str(CHAIN_ID),
        "fee": "0",
        "data": {str(chain): {f"block:{block}": entry}},
        "webhook": {
            "url": f"{hook}{'&' if '?' in hook else '?'}token={TOKEN}",
            "headers": {"Authorization": f"Bearer {HEADER}", "X-Other": HEADER},
        },
    }
    answer = requests.post(
        f"{it.address}/submit-batch-query", json=batch, headers={"api-key": it.key}, timeout=30
    )
    assert answer.status_code == 200, answer.text
    return str(answer.json()["internalId"])


def _until_done(it: Installation, batch: str) -> None:
    def status() -> str:
        told = _as(it.key, it)("/batch-query-status", batchQueryId=batch).json()
        return str(told["queryStatus"])

    _until(lambda: status() == "DONE")


def _until(came: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not came():
        assert time.monotonic() < until
        time.sleep(0.1)


def _answers_to_strangers(it: Installation, batches: list[str]) -> dict[str, str]:
    """To whoever is signed in as somebody else, whoever has another key, and everyone."""
    person = signed_in(it.address, Key.create())
    batch = f"/explorer/query/{batches[0]}"
    pages = ["/", "/docs/api", "/docs/running", "/openapi.json", "/explorer/batches", "/nowhere",
             "/explorer/routes", f"/explorer/registry/{CHAIN_ID}/{it.registry}",
             f"/explorer/account/{HOLDER}", f"/search?q={HOLDER}", batch, f"{batch}/0",
             f"{batch}/0/BALANCE", f"{batch}/0/BALANCE/check", f"{batch}/facts.json",
             f"{batch}/facts.csv", f"{batch}/proof.json", f"{batch}/changes", "/docs/security",
             f"/explorer/query/{batches[1]}", f"/explorer/query/{batches[2]}", "/dashboard",
             "/dashboard/batches", "/dashboard/webhooks", "/dashboard/new-batch", "/admin/",
             "/readyz", "/chain-connections", "/attestations/wanted", "/submit-batch-query",
             f"/batch-query-status?batchQueryId={batches[0]}", "/webhook-deliveries"]  # fmt: skip
    told = {page: person.get(it.address + page, timeout=30) for page in pages}
    assert [page for page, answer in told.items() if answer.status_code == 200][:3] == pages[:3]
    for page in (batch, f"{batch}/proof.json", "/dashboard"):
        assert told[page].status_code == 200, page
    return {page: f"{answer.headers}\n{answer.text}" for page, answer in told.items()}


def _answers_to_operators(it: Installation, batch: str) -> dict[str, str]:
    """To whoever may see accounts and metrics; and the proof, as its owner's programs get it."""
    person = signed_in(it.address, OPERATOR)
    pages = ["/admin/", "/admin/accounts/account/", "/admin/accounts/apikey/"]
    told = {page: person.get(it.address + page, timeout=30) for page in pages}
    token = {"Authorization": f"Bearer {METRICS}"}
    told["/metrics"] = requests.get(f"{it.address}/metrics", headers=token, timeout=30)
    told["proof"] = _as(it.key, it)(f"/batch-queries/{batch}/proof")
    assert {page: answer.status_code for page, answer in told.items() if not answer.ok} == {}
    assert "tacitus_facts_total" in told["/metrics"].text
    assert HOLDER.lower() in told["proof"].text.lower()
    assert HOLDER in told["/admin/accounts/account/"].text
    return {page: f"{answer.headers}\n{answer.text}" for page, answer in told.items()}


def _faults(it: Installation, database: str, batch: str) -> dict[str, str]:
    """Of ours, of a key that is wrong, and of a body that is none."""
    change(database, "queries_batch", "fee", "none", batch)
    broken = _as(it.key, it)("/batch-query-status", batchQueryId=batch)
    page = requests.get(f"{it.address}/explorer/query/{batch}", timeout=30)
    assert (broken.status_code, page.status_code) == (500, 500)
    wrong = _as(it.key[:-4] + "aaaa", it)("/api-key", apiKey=it.key)
    garbage = requests.post(
        f"{it.address}/estimate?apiKey={it.key}", b"{", headers={"api-key": it.key}, timeout=30
    )
    answers: list[Any] = [broken, page, wrong, garbage]
    return {f"fault {number}": each.text for number, each in enumerate(answers)}


def _commands(processes: set[str]) -> set[str]:
    """Each program's second and third word."""
    return {" ".join(each.split("\0")[1:3]) for each in processes}


def _sent(hook: Receiver) -> str:
    """Without what its receiver itself asked to be sent."""
    return "\n".join(
        f"{ {name: value for name, value in headers.items() if HEADER not in value} }\n{body!r}"
        for _, headers, body in hook.got
    )


def _a_database_that_is_gone(repository: Path, folder: Path) -> dict[str, str]:
    (own := folder / "gone").mkdir()
    address = f"postgres://someone:{DATABASE}@127.0.0.1:1/{DATABASE[:4]}"
    with served(repository, own, DEVELOPMENT="1", DATABASE_URL=address, LOG_LEVEL="DEBUG") as it:
        answers = [requests.get(f"{it}{path}", timeout=30) for path in ("/readyz", "/", "/api-key")]
    told = {f"no database {number}": each.text for number, each in enumerate(answers)}
    assert {each.status_code for each in answers} == {401, 503}
    return told | {"its log": (own / "log").read_text()}
