"""The witnesses that the registry refuses are refused here as well."""

import pytest

from queries.proving.errors import WitnessMalformed
from queries.proving.registry_calls import PROVE_SELECTOR
from queries.proving.witness_reading import WitnessReading, read_witness
from tests.queries.attacks.forgeries import FORGERIES, Forgery

pytestmark = pytest.mark.no_database

WITNESS_AT = len(PROVE_SELECTOR) + 1 + 8 + 8 + 32
REFUSED = {name: make() for name, make in FORGERIES.items() if make().error and make().setup}


def read(forged: Forgery) -> WitnessReading | None:
    try:
        return read_witness(forged.calldata, WITNESS_AT, by_hash=True)
    except WitnessMalformed:
        return None


@pytest.mark.parametrize("forged", REFUSED.values(), ids=REFUSED.keys())
def test_it_is_malformed_or_shows_another_root(forged: Forgery) -> None:
    accumulated_root = forged.setup[0][-32:]
    reading = read(forged)
    assert (
        reading is None
        or reading.state_root != accumulated_root
        or reading.end != len(forged.calldata)
    )


@pytest.mark.parametrize(
    "name",
    [
        "point_3_a_branch_at_a_shifted_depth",
        "point_3_an_extension_at_a_shifted_depth",
        "point_3_an_extension_that_ends_above_its_place",
    ],
)
def test_a_shifted_depth_is_malformed(name: str) -> None:
    assert read(REFUSED[name]) is None
