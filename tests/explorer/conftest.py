"""A real chain, and the service on it, for the explorer's tests that ask for them."""

from collections.abc import Iterator

import pytest

from explorer.demo.local_node import LocalNode, local_node
from tests.queries.prover.service import Service, running_service


@pytest.fixture(scope="module")
def node() -> Iterator[LocalNode]:
    with local_node("--slots-in-an-epoch", "1") as running:
        yield running


@pytest.fixture
def service(node: LocalNode) -> Iterator[Service]:
    with running_service(node) as running:
        yield running
