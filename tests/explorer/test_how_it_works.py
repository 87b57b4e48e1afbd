"""The page that explains says what the README and the specification say."""

import re
from pathlib import Path

import pytest
from django.test import Client

from queries.routes import RegistryKind
from queries.statuses import StepName

pytestmark = pytest.mark.no_database
GAS = r"^\| (header and account.*|the same, and a storage.*|100 accounts.*) \| ([\d,]+) \|$"


@pytest.mark.parametrize("address", ["/how-it-works", "/docs"])
def test_its_costs_are_the_readmes(client: Client, repository: Path, address: str) -> None:
    readme = re.findall(GAS, (repository / "README.md").read_text(), re.MULTILINE)
    page = client.get(address).text
    rows = re.findall(r'<tr><td>(.*?)</td><td class="number">([\d,]+)</td></tr>', page)
    assert len(rows) == 3
    assert rows == readme


def test_it_tells_of_every_step_and_kind_of_route(client: Client) -> None:
    page = client.get("/how-it-works").text
    for word in (*StepName.values, *RegistryKind):
        assert word in page
    assert page.count('role="img"') == 2
