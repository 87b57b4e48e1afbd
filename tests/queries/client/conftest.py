"""The shared service of the scenarios, with a contract whose variables the client finds."""

import pytest
from eth_utils.address import to_checksum_address

from tests.builds import contract_for_tests
from tests.queries.contracts.holder import compiled_holder
from tests.rigs.service import Service


@pytest.fixture(scope="session")
def contract(shared_service: Service) -> str:
    """The address of the contract in `holder`."""
    receipt = shared_service.chain.send(None, f"0x{compiled_holder().hex()}")
    return str(receipt["contractAddress"])


@pytest.fixture(scope="session")
def courier(shared_service: Service) -> None:
    shared_service.chain.deploy("Courier", by_factory=True)


@pytest.fixture
def target(shared_service: Service, courier: None) -> str:
    """The address of a contract for deliveries. Not shared, because another test's feed may call it
    late.
    """
    code = contract_for_tests("Receiver").hex()
    return to_checksum_address(shared_service.chain.send(None, f"0x{code}")["contractAddress"])


@pytest.fixture(scope="session")
def block(shared_service: Service, contract: str) -> int:
    """A block that the server can prove."""
    block = shared_service.chain.mine(2) - 1
    shared_service.wait(shared_service.submit_balance(block))
    return block
