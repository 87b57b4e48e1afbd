"""What the nodes of a chain say of a wallet counts for that chain, and never for anyone's key."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings

from accounts.models import Account
from explorer import wiring
from queries.chain.local_node import LocalNode, local_node
from queries.routes import read_routes
from tests.accounts.signers import Signer
from tests.queries.contracts.wallets import Maker, deploy_wallet

pytestmark = pytest.mark.django_db
HERE, ELSEWHERE = 31338, 31339
Know = Callable[[dict[int, str]], None]


@pytest.fixture
def know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Know:
    """Has the service know these chains by these nodes."""

    def configure(nodes: dict[int, str]) -> None:
        file = tmp_path / "routes.toml"
        file.write_text(
            "".join(
                f'[chains.{chain}]\nname = "Chain {chain}"\nnodes = ["{url}"]\n'
                for chain, url in nodes.items()
            )
        )
        monkeypatch.setattr(wiring, "ROUTES", read_routes(file))

    return configure


def _sign_in(signer: Signer, maker: Maker, chain: int) -> Any:
    """By a wallet that is made with this signature (ERC-6492), if it is not there."""
    message = signer.message(str(chain), address=maker.wallet)
    signature = maker.sign(bytes.fromhex(signer.sign(message)[2:]))
    return signer.show(message, f"0x{signature.hex()}")


def test_an_operator_may_be_a_contract_wallet_of_the_chain_that_is_named(
    know: Know, shared_node: LocalNode, settings: LazySettings
) -> None:
    know({31337: shared_node.url})
    owner = Signer()
    wallet = deploy_wallet(shared_node, "OwnedWallet", ("address",), owner.address)
    message = owner.message("31337", address=wallet)
    assert owner.show(message, Signer().sign(message)).json()["code"] == "signature_refused"
    assert owner.show(message, owner.sign(message)).status_code == 200
    address = Account.objects.get().address
    for operators, status in (([address, f"1:{address}"], 302), ([f"31337:{address}"], 200)):
        settings.OPERATORS = operators
        assert owner.client.get("/admin/").status_code == status


def test_the_same_address_on_another_chain_is_somebody_else(know: Know) -> None:
    """A factory that counts makes the next wallet for whoever asks it first, on each chain."""
    owner, stranger = Signer(), Signer()
    with (
        local_node("--chain-id", str(HERE)) as here,
        local_node("--chain-id", str(ELSEWHERE)) as elsewhere,
    ):
        know({HERE: here.url, ELSEWHERE: elsewhere.url})
        owners, strangers = (
            Maker(node, who.address, bytes(32), "CountingFactory")
            for node, who in ((here, owner), (elsewhere, stranger))
        )
        assert owners.wallet == strangers.wallet
        here.send(owners.address, owners.making())
        assert _sign_in(owner, owners, HERE).status_code == 200
        assert _sign_in(stranger, strangers, HERE).status_code == 400
        assert _sign_in(stranger, strangers, ELSEWHERE).status_code == 200
    of_owner, of_stranger = Account.objects.order_by("chain_id")
    assert (of_owner.chain_id, of_stranger.chain_id) == (HERE, ELSEWHERE)
    assert of_owner.address == of_stranger.address
    for signer, own, other in (
        (owner, of_owner, of_stranger),
        (stranger, of_stranger, of_owner),
    ):
        page = signer.client.get("/dashboard").text
        assert own.keys.get().id in page
        assert other.keys.get().id not in page


def test_ones_own_key_is_one_account_whatever_network_the_wallet_is_on(
    know: Know, shared_node: LocalNode
) -> None:
    know({31337: shared_node.url})
    signer = Signer()
    for chain in ("1", "31337", "10"):
        message = signer.message(chain)
        assert signer.show(message, signer.sign(message)).status_code == 200
    assert Account.objects.get().chain_id is None
