"""Super roots are read as the contract reads them."""

import pytest

from queries.proving.outputs import output_in_super_root
from tests.queries.attacks.hash_sources import OUTPUT, SOURCE_CHAIN
from tests.queries.attacks.registry_attacks import FALSE_SUPER_ROOTS, SUPER_ROOT

pytestmark = pytest.mark.no_database


def test_the_output_of_a_chain_is_found() -> None:
    assert output_in_super_root(SUPER_ROOT, SOURCE_CHAIN) == OUTPUT.root


@pytest.mark.parametrize("name", FALSE_SUPER_ROOTS)
def test_no_output_is_read_from_a_false_super_root(name: str) -> None:
    """Each of them is refused by the contract, too."""
    _, super_root = FALSE_SUPER_ROOTS[name]
    assert output_in_super_root(super_root, SOURCE_CHAIN) != OUTPUT.root
