"""Sign-ins that someone made up: each is refused, and each with its own reason."""

import re

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import path

from accounts import views
from accounts.models import Account, Session, SignInNonce
from accounts.wallets import WalletAnswer
from explorer import urls as house
from tests.accounts.forged_sign_ins import FORGED, Forger
from tests.accounts.signers import Signer

pytestmark = pytest.mark.django_db


CHAINS = {
    5: WalletAnswer.REFUSED,
    6: WalletAnswer.NO_CONTRACT,
    8: WalletAnswer.NODE_UNREACHABLE,
    9: WalletAnswer.NODE_UNREACHABLE,
}


def _ask(chain_id: int, *_: object) -> WalletAnswer:
    return CHAINS.get(chain_id, WalletAnswer.CHAIN_UNKNOWN)


# What chains answer is tried on real ones elsewhere; here it is what the refusals say of it.
urlpatterns = [path("sign-in", views.sign_in, {"ask": _ask}), *house.urlpatterns]


@pytest.mark.urls(__name__)
@pytest.mark.parametrize(("code", "forge"), FORGED.values(), ids=FORGED)
def test_it_is_refused_with_its_reason(code: str, forge: Forger) -> None:
    signer = Signer()
    shown = forge(signer)
    before = Session.objects.count()
    answer = signer.show(shown.message, shown.signature)
    told = answer.json()
    assert (told["code"], answer.status_code) == (
        code,
        503 if code == "wallet_unreachable" else 400,
    ), told
    assert re.fullmatch(r"[A-Z].*\.", told["error"])
    assert set(told) == {"error", "code", "path", "retryable"}
    assert Session.objects.count() == before


@pytest.mark.urls(__name__)
def test_a_wallet_that_takes_the_signature_is_signed_in() -> None:
    signer = Signer()
    CHAINS[11] = WalletAnswer.ACCEPTED
    message = signer.message("11")
    assert signer.show(message, "0x1234").status_code == 200
    assert Account.objects.get().address == signer.address


REQUESTS = [
    (b"", "request_malformed"),
    (b"[]", "request_malformed"),
    (b"{", "request_malformed"),
    (b"\xff", "request_malformed"),
    (b"[" * 60_000, "request_malformed"),
    (b'{"message": 1, "signature": "0x"}', "request_malformed"),
    (b'{"message": "x"}', "request_malformed"),
    (b" " * 70_000, "request_malformed"),
]


@pytest.mark.parametrize(("body", "code"), REQUESTS)
def test_a_request_that_is_none_is_refused(body: bytes, code: str) -> None:
    answer = Client().post("/sign-in", body, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, code)


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"chainId": "1"}, "request_malformed"),
        ({"address": "vitalik.eth", "chainId": "1"}, "request_malformed"),
        ({"address": "0xD8dA6BF26964aF9D7eEd9e03E53415D37aA96045"}, "request_malformed"),
        ({"address": 5, "chainId": "1"}, "request_malformed"),
        ({"address": "0x" + 40 * "0"}, "request_malformed"),
        ({"address": "0x" + 40 * "0", "chainId": 1}, "request_malformed"),
        ({"address": "0x" + 40 * "0", "chainId": "0"}, "request_malformed"),
        ({"address": "0x" + 40 * "0", "chainId": "0x0"}, "request_malformed"),
        ({"address": "0x" + 40 * "0", "chainId": "01"}, "request_malformed"),
        ({"address": "0x" + 40 * "0", "chainId": "٣"}, "request_malformed"),
        ({"address": "0x" + 40 * "0", "chainId": "0xffffffffffffffff"}, "request_malformed"),
    ],
)  # fmt: skip
def test_no_message_is_issued_for_what_is_no_wallet(asked: dict[str, object], code: str) -> None:
    answer = Signer().post("/sign-in/message", asked)
    assert (answer.status_code, answer.json()["code"]) == (400, code)
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


def test_a_form_of_another_site_is_refused() -> None:
    signer = Signer()
    message = signer.message()
    content = {"message": message, "signature": signer.sign(message)}
    answer = signer.client.post("/sign-in", content, content_type="application/json")
    assert answer.status_code == 403
    assert not Account.objects.exists()
