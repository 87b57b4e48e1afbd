"""The shared service of the scenarios, with a contract whose variables the client finds."""

import pytest

from tests.queries.contracts.holder import compiled_holder
from tests.rigs.service import Service


@pytest.fixture(scope="session")
def contract(shared: Service) -> str:
    """The address of the contract in `holder`."""
    receipt = shared.chain.send(None, f"0x{compiled_holder().hex()}")
    return str(receipt["contractAddress"])


@pytest.fixture(scope="session")
def block(shared: Service, contract: str) -> int:  # noqa: ARG001  (deployed first)
    """A block that the server can prove."""
    block = shared.chain.mine(2) - 1
    shared.wait(shared.submit_balance(block))
    return block
