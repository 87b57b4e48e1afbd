"""No line tells who asked, or from where: only what was asked for."""

import logging

import pytest
from pytest_django import Settings

from accounts import api_keys
from accounts.models import Account, Session
from explorer.logs import JsonLines
from tests.accounts.signers import Signer

PLACE = "192.0.2.77"


@pytest.mark.django_db
def test_no_line_shows_who_asked_or_from_where(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.BEHIND_PROXY = True
    caplog.set_level(logging.DEBUG)
    person, stranger = Signer(), Signer()
    for each in (person, stranger):
        each.client.defaults |= {"REMOTE_ADDR": PLACE, "HTTP_X_FORWARDED_FOR": PLACE}
    assert person.sign_in().status_code == 200
    owner = Account.objects.get()
    key = owner.keys.get()
    own = {"api-key": api_keys.shown(key) or ""}
    message = person.message()
    assert person.show(message, stranger.sign(message)).status_code >= 400
    asked = [
        person.client.get("/dashboard"),
        person.client.get("/api-key", headers=own),
        person.client.get("/api-key", headers={"api-key": f"{own['api-key'][:-4]}aaaa"}),
        person.client.get("/batch-queries", headers=own),
        person.post("/submit-batch-query", {}, **own),
        person.post(f"/keys/{key.pk}/rename", {"name": "x"}),
        person.client.post("/sign-out-everywhere"),  # without its token
        person.client.get("/admin/"),
    ]
    assert {200, 302, 400, 401, 403} <= {each.status_code for each in asked}
    lines = [JsonLines().format(record) for record in caplog.records]
    assert sum("tacitus.requests" in line for line in lines) > len(asked)
    told = "\n".join(lines).lower().replace(f"/keys/{key.pk}/".lower(), "/keys/asked-for/")
    known = (PLACE, owner.address or "", key.pk, Session.objects.get().pk)
    for secret in (*known, person.client.cookies["session"].value):
        assert secret
        assert secret.lower() not in told
        assert secret.lower().removeprefix("0x") not in told
