"""Looking at the heads of chains, where a chain cannot be looked at."""

import logging
from typing import Any

import pytest

from queries.chain.signer import Signer
from queries.pipeline.chains import Chains
from queries.routes import Chain, NodeAddress, Registry, RegistryKind, Routes
from tests.queries.chain.lying_node import LyingNode, lying_node, result
from tests.queries.pipeline.service import SIGNER_KEY

pytestmark = pytest.mark.django_db


def _of_chain_5(node: LyingNode, _question: Any) -> None:
    node.answer(result("0x5"))


def test_a_node_of_another_chain_is_not_told_of_at_each_look(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with lying_node(_of_chain_5) as address:
        registry = Registry(RegistryKind.NATIVE, 1, 1, "0x" + 40 * "1")
        routes = Routes({1: Chain(1, "One", (NodeAddress(address),))}, {(1, 1): registry})
        chains = Chains(routes, Signer(SIGNER_KEY))
        with caplog.at_level(logging.WARNING, "tacitus.prover"):
            for _ in range(10):
                chains.look_at_heads()
        chains.close()
    said = [each.getMessage() for each in caplog.records if each.name == "tacitus.prover"]
    assert said == ["The nodes of One are of another chain."]
