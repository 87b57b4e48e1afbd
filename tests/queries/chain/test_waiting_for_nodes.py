"""Whatever waits for nodes, a thread is left for who asks nobody."""

from contextlib import ExitStack

import pytest

from explorer.management.commands.serve import Command
from queries.chain.contract_wallets import WalletAnswer, WalletQuestions
from queries.chain.live_reads import LiveReads, TooManyReads
from queries.chain.waiting import AT_ONCE, place_to_wait
from queries.routes import Chain, NodeAddress, Registry, RegistryKind

pytestmark = pytest.mark.no_database
CHAIN = Chain(31337, "Slow", (NodeAddress("http://127.0.0.1:1"),))
REGISTRY = Registry(RegistryKind.NATIVE, 31337, 31337, "0x" + 40 * "1")


def test_they_are_fewer_than_a_process_has_threads() -> None:
    threads = Command().create_parser("manage.py", "serve").get_default("threads")
    assert int(threads) > AT_ONCE


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
