"""Sign-ins besides the forged messages, which the scenarios try: wallets, requests, places."""

from datetime import UTC, datetime, timedelta

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import path

from accounts import views
from accounts.models import Account, Session, SignInNonce
from accounts.sign_in.siwe import VALID_FOR
from accounts.sign_in.wallets import WalletAnswer
from explorer import urls as house
from tests.accounts.signers import Signer

pytestmark = pytest.mark.django_db


CHAINS = {
    11: WalletAnswer.ACCEPTED,
    12: WalletAnswer.ACCEPTED,
    5: WalletAnswer.REFUSED,
    6: WalletAnswer.NO_CONTRACT,
    8: WalletAnswer.NODE_UNREACHABLE,
}


def _ask(chain_id: int, *_: object) -> WalletAnswer:
    return CHAINS[chain_id]


# What chains answer is tried on real ones elsewhere; here it is what the refusals say of it.
urlpatterns = [path("sign-in", views.sign_in, {"ask": _ask}), *house.urlpatterns]


@pytest.mark.urls(__name__)
@pytest.mark.parametrize(
    ("chain", "code", "said"),
    [
        ("5", "signature_refused", "does not accept this signature"),
        ("6", "signature_refused", "no contract wallet at the address"),
        ("8", "wallet_unreachable", "Try again in a minute"),
    ],
)
def test_what_a_contract_wallet_answers_is_a_sentence(chain: str, code: str, said: str) -> None:
    signer = Signer()
    answer = signer.show(signer.message(chain), f"0x{96 * '11'}")
    assert answer.json()["code"] == code
    assert said in answer.json()["error"]
    assert not Session.objects.exists()


def test_a_message_that_was_not_used_in_time_is_refused() -> None:
    signer = Signer()
    message = signer.message()
    SignInNonce.objects.update(issued=datetime.now(UTC) - VALID_FOR - timedelta(seconds=1))
    told = signer.show(message, signer.sign(message)).json()
    assert told["code"] == "message_refused"


@pytest.mark.urls(__name__)
def test_the_same_address_on_another_chain_or_with_its_own_key_is_another_account(
    settings: LazySettings,
) -> None:
    """On another chain a stranger may have put a wallet there, and its node may lie."""
    owner, stranger = Signer(), Signer()
    for signer, chain in ((owner, "11"), (stranger, "12")):
        message = signer.message(chain, address=owner.address)
        assert signer.show(message, "0x1234").status_code == 200
    own_key = Signer(key=owner.key)
    for _ in range(2):  # whatever network the wallet is on
        assert own_key.sign_in().status_code == 200
    accounts = {each.chain_id: each for each in Account.objects.filter(address=owner.address)}
    assert set(accounts) == {11, 12, None}
    for signer, chain_id in ((owner, 11), (stranger, 12), (own_key, None)):
        page = signer.client.get("/dashboard").text
        shown = [each for each in accounts if accounts[each].keys.get().id in page]
        assert shown == [chain_id]
    settings.OPERATORS = [f"11:{owner.address}"]
    statuses = [each.client.get("/admin/").status_code for each in (owner, stranger, own_key)]
    assert statuses == [200, 302, 302]


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"{", b"\xff", b"[" * 60_000, b" " * 70_000, b'{"message": "x"}',
        b'{"message": 1, "signature": "0x"}',
    ],
)  # fmt: skip
def test_a_request_that_is_none_is_refused(body: bytes) -> None:
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
def test_no_message_is_issued_for_what_is_no_wallet(address: object, chain: object) -> None:
    answer = Signer().post("/sign-in/message", {"address": address, "chainId": chain})
    assert (answer.status_code, answer.json()["code"]) == (400, "request_malformed")
    assert not SignInNonce.objects.exists()


def test_no_message_is_issued_or_taken_at_an_address_the_operator_did_not_name(
    settings: LazySettings,
) -> None:
    """Another program's page on this machine could have its visitors sign for it."""
    settings.ALLOWED_HOSTS = ["testserver"]
    signer = Signer()
    message = signer.message()
    elsewhere = {"Host": "testserver:3000"}
    asked = {"address": signer.address, "chainId": "1"}
    shown = {"message": message, "signature": signer.sign(message)}
    for refused in (
        signer.post("/sign-in/message", asked, **elsewhere),
        signer.post("/sign-in", shown, **elsewhere),
    ):
        assert (refused.status_code, refused.json()["code"]) == (400, "wrong_place")


def test_in_production_only_the_operators_addresses_are_named(settings: LazySettings) -> None:
    settings.DEVELOPMENT = False
    signer = Signer()
    asked = {"address": signer.address, "chainId": "1"}
    assert signer.post("/sign-in/message", asked).json()["code"] == "wrong_place"
    settings.SIGN_IN_ORIGINS = ["http://testserver"]
    assert signer.post("/sign-in/message", asked).status_code == 200
