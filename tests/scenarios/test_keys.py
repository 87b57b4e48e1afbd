"""API keys: shown, rotated, revoked, and managed by operators."""

import re

import requests

from tests.rigs.service import OWNERS, Service
from tests.scenarios.fixtures import NewService
from tests.scenarios.visitor import Visitor

FORMER, NEW = (50 * letter + "0123456789" for letter in "ab")  # SECRET_KEY
ACCOUNTS, KEYS = "/admin/accounts/account/", "/admin/accounts/apikey/"


def shown_keys(visitor: Visitor) -> list[str]:
    """The keys on their page of the dashboard."""
    return sorted(set(re.findall(r"tct_[a-z0-9]+_[a-z0-9]{20,}", visitor.page("/dashboard/keys"))))


def key_check(url: str, key: str) -> tuple[int, str]:
    """HTTP status and error code of a request with this key."""
    answer = requests.get(f"{url}/api-key", headers={"api-key": key}, timeout=30)
    return answer.status_code, answer.json().get("code", "")


def test_a_key_is_shown_rotated_and_revoked(shared_service: Service) -> None:
    visitor = Visitor(shared_service.url).sign_in()
    (first,) = shown_keys(visitor)
    assert key_check(shared_service.url, first) == (200, "")
    visitor.submit("/dashboard/keys", "/keys/[^/]+/rotate", grace="3600")
    (second,) = set(shown_keys(visitor)) - {first}
    assert (
        key_check(shared_service.url, first) == key_check(shared_service.url, second) == (200, "")
    )
    visitor.submit("/dashboard/keys", "/keys/[^/]+/end-grace")
    visitor.submit("/dashboard/keys", "/keys/[^/]+/rotate", grace="0")
    (third,) = shown_keys(visitor)
    for old_key in (first, second):
        assert key_check(shared_service.url, old_key) == (401, "key_unknown")
    visitor.submit("/dashboard/keys", "/keys", name="Another")
    (fourth,) = set(shown_keys(visitor)) - {third}
    visitor.submit("/dashboard/keys", f"/keys/{third.split('_')[1]}/revoke")
    assert key_check(shared_service.url, third) == (401, "key_revoked")
    assert shown_keys(visitor) == [fourth]
    assert key_check(shared_service.url, fourth) == (200, "")


def test_another_account_cannot_change_a_key(shared_service: Service) -> None:
    owner, stranger = (Visitor(shared_service.url).sign_in() for _ in range(2))
    (key,), (own,) = shown_keys(owner), shown_keys(stranger)
    for action in ("rotate", "revoke"):
        others = f"/keys/{key.split('_')[1]}/{action}"
        stranger.submit("/dashboard/keys", f"/keys/{own.split('_')[1]}/{action}", to=others)
    assert key_check(shared_service.url, key) == (200, "")


def test_each_way_to_send_a_key_works_and_is_counted(shared_service: Service) -> None:
    key = shared_service.manage(
        "create_api_key", "--owner", OWNERS[0], "--name", "Relay"
    ).stdout.strip()
    for parameters, headers in (
        ({"apiKey": key}, {}),
        ({"apiKey": "tct_wrong"}, {"api-key": key}),  # the header decides
    ):
        answer = requests.get(
            f"{shared_service.url}/api-key", params=parameters, headers=headers, timeout=30
        ).json()
    assert (answer["name"], answer["owner"], answer["use"]["total"]) == ("Relay", OWNERS[0], 2)


def test_keys_and_sessions_survive_a_new_secret_key(new_service: NewService) -> None:
    service = new_service()
    server = service.serve(SECRET_KEY=FORMER)
    visitor = Visitor(service.url).sign_in()
    late = Visitor(service.url, visitor.key).sign_in()
    keys = shown_keys(visitor)
    server.stop()
    server = service.serve(SECRET_KEY=NEW, FORMER_SECRET_KEYS=FORMER)
    visitor.url = service.url
    assert shown_keys(visitor) == keys
    server.stop()
    # Without FORMER_SECRET_KEYS the API key still works, but is not shown.
    service.serve(SECRET_KEY=NEW)
    visitor.url = late.url = service.url
    assert (visitor.is_signed_in, late.is_signed_in) == (True, False)
    assert shown_keys(visitor) == []
    assert key_check(service.url, keys[0]) == (200, "")


def test_operators_disable_accounts_and_revoke_keys_without_seeing_secrets(
    new_service: NewService,
) -> None:
    service, operator, person = new_service(), Visitor(""), Visitor("")
    service.serve(OPERATORS=operator.key.address)
    for visitor in (operator, person):
        visitor.url = service.url
        visitor.sign_in()
    for stranger in (person, Visitor(service.url)):
        for path in ("/admin/", ACCOUNTS, KEYS):
            assert stranger.get(path).headers["Location"].startswith("/admin/login/")
    (key,) = shown_keys(person)

    operator.choose(ACCOUNTS, person.key.address, "disable")
    assert not person.is_signed_in
    assert key_check(service.url, key) == (401, "account_disabled")
    operator.choose(ACCOUNTS, person.key.address, "enable")
    assert key_check(service.url, key) == (200, "")
    page = operator.choose(KEYS, key.split("_")[1], "revoke")
    assert key_check(service.url, key) == (401, "key_revoked")
    assert key.split("_")[2] not in page
