"""The local node of tests and demo is waited for, and loses nothing that was sent to it."""

import pytest

from queries.chain.local_node import LocalNode
from tests.local_chain import undone

pytestmark = pytest.mark.no_database


@pytest.mark.parametrize("is_lost", [True, False])
def test_a_transaction_that_it_does_not_mine_is_sent_again(
    shared_node: LocalNode, monkeypatch: pytest.MonkeyPatch, *, is_lost: bool
) -> None:
    monkeypatch.setattr(shared_node, "patience", 0.3)
    ask, sent = shared_node.rpc.ask, list[str]()

    def tell(method: str, *params: object) -> object:
        answer = ask(method, *params)
        if method == "eth_sendTransaction":
            sent.append(answer)
            if is_lost and len(sent) == 1:
                ask("anvil_dropTransaction", answer)
        return answer

    with undone(shared_node):
        monkeypatch.setattr(shared_node.rpc, "ask", tell)
        shared_node.rpc.ask_many("evm_setAutomine", [(False,)])
        try:
            receipt = shared_node.send(shared_node.payer, b"")
        finally:
            shared_node.rpc.ask_many("evm_setAutomine", [(True,)])
    assert sent == 2 * [receipt.transaction]
