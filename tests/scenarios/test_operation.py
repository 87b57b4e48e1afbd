"""What operators do to a running service: stop it, back it up, bring it back."""

import sqlite3
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
import requests

from tests.scenarios.chain import Chain
from tests.scenarios.node import Node
from tests.scenarios.service import BALANCE, HELD, HOLDER, Service, accounts, request, until
from tests.scenarios.visitor import Visitor


def test_a_server_that_is_stopped_finishes_the_requests_that_run(
    new_service: Callable[[], Service], new_node: Callable[[Chain], Node], chain: Chain
) -> None:
    service, node = new_service(), new_node(chain)
    service.add_chain(chain, node)
    service.add_registry("native", chain, chain)
    server = service.serve()
    content = request({31337: {chain.mine(2) - 1: accounts(HOLDER)}})
    node.is_slow(60)
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(service.post, "/estimate", content)
        until(lambda: node.calls, what="the estimate asks the node")
        stopping = pool.submit(server.stop)
        time.sleep(1)
        assert not stopping.done()
        with pytest.raises(requests.ConnectionError):
            requests.get(f"{service.url}/healthz", timeout=5)
        node.is_well()
        assert running.result().status_code == 200
        stopping.result()


def back_up(database: str, file: Path) -> None:
    """By the commands of the operators' guide, while everything runs."""
    if database.startswith("sqlite"):
        with closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as source:
            source.execute("VACUUM INTO ?", (str(file),))
        return
    dump = ["pg_dump", "--format", "custom", "--file", str(file), "--dbname", database]
    subprocess.run(dump, check=True, timeout=60)


def bring_back(database: str, file: Path) -> None:
    """While nothing runs."""
    if database.startswith("sqlite"):
        place = Path(database.removeprefix("sqlite:///"))
        for left in place.parent.glob(f"{place.name}*"):
            left.unlink()
        place.write_bytes(file.read_bytes())
        return
    restore = ["pg_restore", "--clean", "--if-exists", "--dbname", database, str(file)]
    subprocess.run(restore, check=True, timeout=60)


def test_what_is_brought_back_from_a_backup_is_whole_and_works(
    service: Service, chain: Chain, tmp_path: Path
) -> None:
    visitor = Visitor(service.url).sign_in()
    kept_block = chain.mine(2) - 1
    kept = service.submit_balance(kept_block)
    service.wait(kept)
    back_up(service.database, tmp_path / "backup")
    lost_block = chain.mine(2) - 1
    lost = service.submit_balance(lost_block)
    service.wait(lost)
    service.close()
    bring_back(service.database, tmp_path / "backup")
    service.serve()
    service.prove()
    visitor.url = service.url
    assert visitor.is_signed_in
    assert service.status(kept)["queryStatus"] == "DONE"
    assert service.get(f"/batch-queries/{kept}/proof").status_code == 200
    assert service.get("/batch-query-status", batchQueryId=lost).status_code == 404
    # What was submitted since is submitted again, and costs nothing where it was proven.
    assert service.wait(service.submit_balance(lost_block))["spent"] == "0"
    block = chain.mine(2) - 1
    service.wait(service.submit_balance(block))
    assert service.field(HOLDER, block, BALANCE) == HELD
