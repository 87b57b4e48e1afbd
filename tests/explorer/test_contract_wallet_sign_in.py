"""Sign-in asks contract wallets on real chains, through what explorer wires together."""

from pathlib import Path

import pytest
from django.conf import LazySettings

from accounts import api_keys
from accounts.models import Account
from explorer import wiring
from queries.chain.local_node import LocalNode
from queries.routes import Routes, read_routes
from tests.accounts.signers import Signer
from tests.commands import PRODUCTION, Manage
from tests.queries.contracts.wallets import Maker, deploy_wallet


@pytest.fixture
def routes(shared_node: LocalNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Routes:
    file = tmp_path / "routes.toml"
    file.write_text(f'[chains.31337]\nname = "Local"\nnodes = ["{shared_node.url}"]\n')
    read = read_routes(file)
    monkeypatch.setattr(wiring, "ROUTES", read)
    return read


@pytest.mark.django_db
@pytest.mark.usefixtures("routes")
def test_a_contract_wallet_signs_in_with_its_owners_signature(shared_node: LocalNode) -> None:
    owner = Signer()
    wallet = deploy_wallet(shared_node, "OwnedWallet", ("address",), owner.address)
    message = owner.message("31337", address=wallet)
    assert owner.show(message, Signer().sign(message)).json()["code"] == "signature_refused"
    assert owner.show(message, owner.sign(message)).status_code == 200
    account = Account.objects.get()
    assert (str(account.address).lower(), account.chain_id) == (wallet, 31337)
    page = owner.client.get("/dashboard").text
    assert "a contract wallet on chain 31337" in page
    key = str(api_keys.shown(account.keys.get()))
    told = owner.client.get("/api-key", headers={"api-key": key}).json()
    assert (told["owner"], told["ownerChainId"]) == (account.address, "31337")


@pytest.mark.django_db
@pytest.mark.usefixtures("routes")
def test_an_operator_may_be_a_contract_wallet_of_the_chain_that_is_named(
    shared_node: LocalNode, settings: LazySettings
) -> None:
    owner = Signer()
    wallet = deploy_wallet(shared_node, "OwnedWallet", ("address",), owner.address)
    message = owner.message("31337", address=wallet)
    assert owner.show(message, owner.sign(message)).status_code == 200
    address = Account.objects.get().address
    for operators, status in (([address, f"1:{address}"], 302), ([f"31337:{address}"], 200)):
        settings.OPERATORS = operators
        assert owner.client.get("/admin/").status_code == status


@pytest.mark.django_db
@pytest.mark.usefixtures("routes")
def test_a_wallet_that_is_not_made_yet_signs_in(shared_node: LocalNode) -> None:
    owner = Signer()
    maker = Maker(shared_node, owner.address, b"salt".ljust(32))
    message = owner.message("31337", address=maker.wallet)
    signature = maker.sign(bytes.fromhex(owner.sign(message)[2:]))
    assert owner.show(message, f"0x{signature.hex()}").status_code == 200
    assert str(Account.objects.get().address).lower() == maker.wallet


@pytest.mark.django_db
@pytest.mark.usefixtures("routes")
def test_where_no_contract_is_the_signature_is_anothers() -> None:
    signer = Signer()
    message = signer.message("31337")
    answer = signer.show(message, Signer().sign(message))
    assert answer.json()["code"] == "signature_refused"


@pytest.mark.no_database
def test_a_wrong_routes_file_is_one_sentence(manage: Manage, tmp_path: Path) -> None:
    file = tmp_path / "routes.toml"
    file.write_text("[chains.x]")
    ended = manage("check", **PRODUCTION, ROUTES_FILE=str(file))
    assert ended.returncode == 1
    assert ended.stderr.startswith("Tacitus cannot start. ROUTES_FILE, chains: x is no chain id;")
    assert len(ended.stderr.splitlines()) == 1
