"""Numbers, hashes and addresses as pages show them."""

import pytest

from accounts.wallets import shortened
from explorer.templatetags.tacitus import grouped

pytestmark = pytest.mark.no_database


def test_numbers_are_grouped() -> None:
    assert [grouped(number) for number in (0, 999, 5_186_021)] == ["0", "999", "5,186,021"]


def test_hashes_are_shortened_in_the_middle_and_short_ones_stay() -> None:
    assert shortened("0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045") == "0xd8dA…6045"
    assert shortened("0xd8dA6BF2") == "0xd8dA6BF2"
