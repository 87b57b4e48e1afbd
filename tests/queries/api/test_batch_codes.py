"""The page and the OpenAPI description list every code of a batch."""

import re

import pytest
from django.test import Client
from django.utils.html import escape

from queries.api.batch_codes import batch_codes, rejection_codes, wait_codes
from tests.queries.api.served_api import HERE

pytestmark = [pytest.mark.no_database, pytest.mark.urls(HERE)]


def test_the_page_and_the_description_list_every_code() -> None:
    page = Client().get("/docs/api").content.decode()
    listed = re.findall(r'<div id="batch-(\w+)"><dt><code>(\w+)</code></dt>\s*<dd>(.+)</dd>', page)
    assert [(code, code, _told(code)) for code, _, _ in listed] == listed
    assert {code for code, *_ in listed} == {*wait_codes(), *rejection_codes()}
    schemas = Client().get("/openapi.json").json()["components"]["schemas"]
    for name, member, codes in (
        ("Batch", "waitCode", wait_codes()),
        ("Query", "waitCode", wait_codes()),
        ("Rejection", "code", rejection_codes()),
        ("StepFault", "code", rejection_codes()),
    ):
        assert schemas[name]["properties"][member]["examples"] == codes


def _told(code: str) -> str:
    (it,) = [each for each in batch_codes() if each.code == code]
    assert re.fullmatch(r"[A-Z].*\.", it.meaning)
    kinds = [kind for kind, so in (("waiting", it.waits), ("REJECTED", it.rejects)) if so]
    return f"{' or '.join(kinds)}. {escape(it.meaning)}"
