"""While some make a server work and wait as much as they may, others are served.

Each test measures others alone and then beside the attack, in the same run. Time here is that of
one process with its four threads; what bounds each attack is told at /docs/security.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pytest
import requests
from eth_account import Account as Key

from tests.commands import Manage, managing
from tests.explorer.beside import Site, memory, served_beside
from tests.queries.chain.lying_node import LyingNode, lying_node, result, stall
from tests.served import served

pytestmark = pytest.mark.no_database
CHAIN = 31337
ROUTES = """
[chains.{chain}]
name = "Slow"
nodes = ["{node}"]
finality = 0
free = true
ens_registry = "0x1111111111111111111111111111111111111111"

[[registries]]
kind = "native"
source = {chain}
destination = {chain}
address = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
"""
MOST_MEMORY = 100 * 2**20


def _tell_the_chain_and_stall(node: LyingNode, question: dict[str, object]) -> None:
    if question["method"] == "eth_chainId":
        node.answer(result(hex(CHAIN)))
    else:
        stall(node, question)


@pytest.fixture(scope="module")
def site(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    with lying_node(_tell_the_chain_and_stall) as node:
        (folder / "routes.toml").write_text(ROUTES.format(chain=CHAIN, node=node))
        own = {"DEVELOPMENT": "1", "ROUTES_FILE": str(folder / "routes.toml")}
        manage: Manage = managing(repository, folder)
        assert manage("migrate", **own).returncode == 0
        owners = [Key.create().address for _ in range(5)]
        keys = [manage("create_api_key", "--owner", each, **own).stdout.strip() for each in owners]
        with served(repository, folder, **own) as address:
            yield Site(address, keys)


def test_nodes_that_hang_leave_a_thread_to_those_who_ask_nobody(site: Site) -> None:
    """With checks of facts they would be more than there are threads: see test_waiting."""

    body = _batch({f"{n}.eth": _BALANCE for n in range(9)})
    assert site.estimate(site.keys[0], body).json()["code"] == "chain_unavailable"

    def hangs(key: str) -> Callable[[], object]:
        return lambda: site.estimate(key, body)

    served_beside(site, *map(hangs, site.keys[:4]), *[_sign_in_as_a_wallet(site)] * 2)


def test_bodies_as_deep_and_as_large_as_they_may_be(site: Site) -> None:
    deep = b"[" * 500_000
    values = b'{"destinationChainId": [' + b"0," * 500_000 + b"0]}"
    names = b'{"' + b'":0,"'.join(b"%d" % n for n in range(120_000)) + b'":0}'
    huge = b"x" * 2**21
    for body, code in ((deep, "nested_too_deeply"), (huge, "body_too_large")):
        assert site.submit(site.keys[0], body).json()["code"] == code
    before = memory(site)
    served_beside(
        site,
        *[partial(site.submit, site.keys[0], each) for each in (deep, values, names)],
    )
    assert memory(site) < before + MOST_MEMORY


def test_batches_as_costly_as_the_limits_allow(site: Site) -> None:
    many = {f"0x{n:040x}": {"props": ["BALANCE"], "slots": ["0x1"] * 5} for n in range(1_000)}
    body = _batch(many)
    assert site.submit(site.keys[0], body).status_code == 200
    served_beside(site, lambda: site.submit(site.keys[0], body))


def test_many_polls_and_searches(site: Site) -> None:
    batch = site.submit(site.keys[0], _batch({"0x" + 40 * "1": _BALANCE})).json()["internalId"]

    def poll() -> None:
        parameters = {"batchQueryId": batch}
        answer = requests.get(
            f"{site.address}/batch-query-status",
            parameters,
            headers={"api-key": site.keys[1]},
            timeout=30,
        )
        assert answer.status_code in {200, 429}

    def search() -> None:
        asked = {"q": "batches " + "0x" + "a" * 40 + " 1" * 500}
        assert requests.get(f"{site.address}/search", asked, timeout=30).status_code < 500

    served_beside(site, poll, poll, search)


_BALANCE = {"props": ["BALANCE"]}


def _batch(accounts: Mapping[str, object]) -> bytes:
    data = {str(CHAIN): {"block:1": {"accounts": accounts}}}
    return json.dumps({"destinationChainId": str(CHAIN), "fee": "0", "data": data}).encode()


def _sign_in_as_a_wallet(site: Site) -> Callable[[], object]:
    """With a signature that only the chain could say something about."""

    def attack() -> int:
        session = requests.Session()
        session.get(f"{site.address}/sign-in", timeout=30)
        session.headers["X-CSRFToken"] = session.cookies["visit"]
        asked = {"address": Key.create().address, "chainId": str(CHAIN)}
        told = session.post(f"{site.address}/sign-in/message", json=asked, timeout=30)
        if told.status_code != 200:  # a network signs in only so often
            time.sleep(0.2)
            return told.status_code
        shown = {"message": told.json()["message"], "signature": "0x" + 64 * "11"}
        status = session.post(f"{site.address}/sign-in", json=shown, timeout=30).status_code
        assert status in {429, 503}
        return status

    return attack
