"""A running web server: stopped, and with slow nodes."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from tests.rigs.anvil import Chain
from tests.rigs.service import HOLDER, Service, accounts, request, wait_until
from tests.scenarios.fixtures import NewNode, NewService

pytestmark = pytest.mark.either_database


def test_a_stopped_server_finishes_running_requests(
    new_service: NewService, new_node: NewNode, chain: Chain
) -> None:
    service, node = new_service(), new_node(chain)
    service.add_native_chain(chain, node)
    server = service.serve()
    content = request({31337: {chain.mine(2) - 1: accounts(HOLDER)}})
    node.delay_answers(60)
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(service.post, "/estimate", content)
        wait_until(lambda: node.calls, what="the estimate calls the node")
        stopping = pool.submit(server.stop)
        wait_until(lambda: refuses_connections(service), what="the server takes no new requests")
        assert not stopping.done()
        node.recover()
        assert running.result().status_code == 200
        stopping.result()


def refuses_connections(service: Service) -> bool:
    try:
        requests.get(f"{service.url}/healthz", timeout=5)
    except requests.ConnectionError:
        return True
    return False


def test_slow_nodes_do_not_block_other_requests(
    new_service: NewService, new_node: NewNode, chain: Chain
) -> None:
    service, node = new_service(), new_node(chain)
    service.add_native_chain(chain, node)
    service.serve("--threads", "2")
    content = request({31337: {chain.mine(2) - 1: accounts(HOLDER)}})
    node.delay_answers(60)
    with ThreadPoolExecutor(2) as pool:
        estimates = [
            pool.submit(service.post, "/estimate", content, key=key) for key in service.keys
        ]
        wait_until(lambda: node.calls.total() > 1, what="both estimates call the node")
        assert requests.get(f"{service.url}/readyz", timeout=3).ok
        node.recover()
        assert {estimate.result().status_code for estimate in estimates} <= {200, 503}
