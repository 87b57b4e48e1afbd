"""Whatever waits for nodes or makes proofs, a thread is left for who asks for neither."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

import pytest

from explorer.management.commands.serve import Command
from queries.chain.contract_wallets import WalletAnswer, WalletQuestions
from queries.chain.live_reads import LiveReads, TooManyReads
from queries.held_threads import AT_ONCE, place_for_a_proof, place_to_wait
from queries.routes import Chain, NodeAddress, Registry, RegistryKind

pytestmark = pytest.mark.no_database
Place = Callable[[], AbstractContextManager[bool]]
CHAIN = Chain(31337, "Slow", (NodeAddress("http://127.0.0.1:1"),))
REGISTRY = Registry(RegistryKind.NATIVE, 31337, 31337, "0x" + 40 * "1")


@pytest.mark.parametrize("first", [place_to_wait, place_for_a_proof])
def test_they_are_fewer_than_a_process_has_threads(first: Place) -> None:
    """Those who wait for nodes and those who want proofs together."""
    threads = Command().create_parser("manage.py", "serve").get_default("threads")
    with ExitStack() as held:
        places = [*10 * [first], *10 * [place_to_wait], *10 * [place_for_a_proof]]
        taken = sum(held.enter_context(place()) for place in places)
    assert taken == AT_ONCE < int(threads)
    with first() as there_is_one:
        assert there_is_one


def test_proofs_leave_a_place_to_who_waits_for_nodes() -> None:
    """Anyone may have proofs made, one after the other without an end."""
    with ExitStack() as held:
        made = [held.enter_context(place_for_a_proof()) for _ in range(10)]
        assert sum(made) == 2
        with place_to_wait() as there_is_one:
            assert there_is_one


def test_checks_and_sign_ins_are_told_that_it_is_busy() -> None:
    with ExitStack() as all_of_them:
        assert all(all_of_them.enter_context(place_to_wait()) for _ in range(AT_ONCE))
        with place_to_wait() as there_is_one:
            assert not there_is_one
        with pytest.raises(TooManyReads):
            LiveReads().words(CHAIN, REGISTRY, [])
        questions = WalletQuestions()
        wallet = ("0x" + 40 * "2", bytes(32), b"signed", lambda: None)
        assert questions.ask(CHAIN, *wallet) is WalletAnswer.BUSY
    assert questions.ask(CHAIN, *wallet) is WalletAnswer.NODE_UNREACHABLE
