"""Refused sign-ins: contract wallets, malformed requests, other origins.

tests/scenarios/test_sign_in.py tries forged messages.
"""

from datetime import UTC, datetime, timedelta

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import path

from accounts import views
from accounts.models import Account, Session, SignInNonce
from accounts.sign_in.siwe import VALIDITY
from accounts.wallets import WalletAnswer
from explorer import urls
from tests.accounts.signers import Signer

pytestmark = [pytest.mark.django_db, pytest.mark.either_database]


ANSWERS = {
    11: WalletAnswer.ACCEPTED,
    12: WalletAnswer.ACCEPTED,
    5: WalletAnswer.REFUSED,
    6: WalletAnswer.NO_CONTRACT,
    8: WalletAnswer.NODE_UNREACHABLE,
}


def _ask(chain_id: int, *_: object) -> WalletAnswer:
    return ANSWERS[chain_id]


# tests/queries/chain asks real contract wallets.
urlpatterns = [path("sign-in", views.sign_in, {"ask": _ask}), *urls.urlpatterns]


@pytest.mark.urls(__name__)
@pytest.mark.parametrize(
    ("chain", "code", "sentence"),
    [
        ("5", "signature_refused", "does not accept this signature"),
        ("6", "signature_refused", "no contract wallet at the address"),
        ("8", "wallet_unreachable", "Try again in a minute"),
    ],
)
def test_a_contract_wallets_refusal_says_why(chain: str, code: str, sentence: str) -> None:
    signer = Signer()
    answer = signer.send_signature(signer.message(chain), f"0x{96 * '11'}")
    assert answer.json()["code"] == code
    assert sentence in answer.json()["error"]
    assert not Session.objects.exists()


def test_an_expired_message_is_refused() -> None:
    signer = Signer()
    message = signer.message()
    SignInNonce.objects.update(issued_at=datetime.now(UTC) - VALIDITY - timedelta(seconds=1))
    error = signer.send_signature(message, signer.sign(message)).json()
    assert error["code"] == "message_refused"


@pytest.mark.urls(__name__)
def test_a_contract_wallet_is_a_separate_account_on_every_chain(settings: LazySettings) -> None:
    """A stranger may deploy a wallet at the same address of another chain."""
    owner, stranger = Signer(), Signer()
    for signer, chain in ((owner, "11"), (stranger, "12")):
        message = signer.message(chain, address=owner.address)
        assert signer.send_signature(message, "0x1234").status_code == 200
    own_key = Signer(key=owner.key)
    for _ in range(2):  # whatever network the wallet is on
        assert own_key.sign_in().status_code == 200
    signers = {11: owner, 12: stranger, None: own_key}
    accounts = Account.objects.filter(address=owner.address)
    keys = {account.chain_id: account.keys.get().id for account in accounts}
    assert set(keys) == set(signers)
    for chain_id, signer in signers.items():
        page = signer.client.get("/dashboard/keys").text
        assert [chain for chain in keys if keys[chain] in page] == [chain_id]
    settings.OPERATORS = [f"11:{owner.address}"]
    statuses = [signer.client.get("/admin/").status_code for signer in signers.values()]
    assert statuses == [200, 302, 302]


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"{", b"\xff", b"[" * 60_000, b" " * 70_000, b'{"message": "x"}',
        b'{"message": 1, "signature": "0x"}',
    ],
)  # fmt: skip
def test_a_malformed_request_is_refused(body: bytes) -> None:
    answer = Client().post("/sign-in", body, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, "request_malformed")


ADDRESS = "0x" + 40 * "0"


@pytest.mark.parametrize(
    ("address", "chain"),
    [
        (None, "1"), ("vitalik.eth", "1"), ("0xD8dA6BF26964aF9D7eEd9e03E53415D37aA96045", "1"),
        (5, "1"), (ADDRESS, None), (ADDRESS, 1), (ADDRESS, "0"), (ADDRESS, "0x0"), (ADDRESS, "01"),
        (ADDRESS, "٣"), (ADDRESS, "0xffffffffffffffff"),
    ],
)  # fmt: skip
def test_no_message_is_issued_for_a_malformed_wallet(address: object, chain: object) -> None:
    answer = Signer().post("/sign-in/message", {"address": address, "chainId": chain})
    assert (answer.status_code, answer.json()["code"]) == (400, "request_malformed")
    assert not SignInNonce.objects.exists()


def test_no_message_is_issued_or_accepted_on_another_port(settings: LazySettings) -> None:
    """Another program's page on this machine could have its visitors sign our messages."""
    settings.ALLOWED_HOSTS = ["testserver"]
    signer = Signer()
    message = signer.message()
    elsewhere = {"Host": "testserver:3000"}
    wallet = {"address": signer.address, "chainId": "1"}
    signed = {"message": message, "signature": signer.sign(message)}
    for address, content in (("/sign-in/message", wallet), ("/sign-in", signed)):
        response = signer.post(address, content, **elsewhere)
        assert (response.status_code, response.json()["code"]) == (400, "wrong_origin")


def test_in_production_only_the_configured_origins_issue_messages(settings: LazySettings) -> None:
    settings.DEVELOPMENT = False
    signer = Signer()
    wallet = {"address": signer.address, "chainId": "1"}
    assert signer.post("/sign-in/message", wallet).json()["code"] == "wrong_origin"
    settings.SIGN_IN_ORIGINS = ["http://testserver"]
    assert signer.post("/sign-in/message", wallet).status_code == 200
