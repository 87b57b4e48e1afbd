"""Whoever copies an example sends the key in a header: addresses end up in logs."""

import re
from pathlib import Path

import pytest
from django.test import Client

from accounts import api_keys
from accounts.models import Account
from accounts.wallets import Wallet

HEADER_IN_CODE = re.compile("api-key: |\"api-key\": |'api-key': ")
WARNING = "logs"


def _examples(text: str) -> list[str]:
    """What stands to be copied, in Markdown and on pages."""
    return re.findall(r"^```.*?^```|<pre.*?</pre>", text, re.DOTALL | re.MULTILINE)


@pytest.mark.django_db
def test_no_example_puts_it_into_the_address(repository: Path, client: Client) -> None:
    owner, _ = Account.objects.of_wallet(Wallet("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"))
    api_keys.add_key(owner, "Bridge")
    client.force_login(owner)
    told = {
        "README": (repository / "README.md").read_text(),
        "docs": client.get("/docs/api").text,
        "guide": client.get("/docs").text,
        "dashboard": client.get("/dashboard").text,
    }
    for place, text in told.items():
        examples = _examples(text)
        assert examples, place
        assert not [each for each in examples if "apiKey=" in each], place
    for place in ("README", "dashboard"):
        assert [each for each in _examples(told[place]) if HEADER_IN_CODE.search(each)], place


@pytest.mark.no_database
def test_where_the_address_is_named_the_header_comes_first_and_logs_are_warned_of(
    repository: Path,
) -> None:
    for text in ((repository / "README.md").read_text(), Client().get("/docs/api").text):
        paragraphs = [each for each in re.split(r"\n\n|</p>", text) if "?apiKey=" in each]
        assert paragraphs
        for each in paragraphs:
            assert each.index("api-key") < each.index("?apiKey=")
            assert WARNING in each
    described = Client().get("/openapi.json").json()
    schemes = described["components"]["securitySchemes"]
    assert WARNING in schemes["parameter"]["description"]
    for operations in described["paths"].values():
        for operation in operations.values():
            assert operation["security"] in ([], [{"header": []}, {"parameter": []}])
