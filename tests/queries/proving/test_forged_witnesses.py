"""The witnesses that the registry refuses are refused here as well."""

import pytest

from queries.proving.errors import WitnessMalformed
from queries.proving.registry_calls import PROVE_SELECTOR
from queries.proving.witness_reading import WitnessReading, read_witness
from tests.queries.attacks.forgeries import FORGERIES, Forgery

pytestmark = pytest.mark.no_database

WITNESS_AT = len(PROVE_SELECTOR) + 1 + 8 + 8 + 32
OF_HEADERS = ("point_15_", "point_16_")
REFUSED = {
    name: make()
    for name, make in FORGERIES.items()
    if not name.startswith(OF_HEADERS) and make().error and make().setup
}


def read(forged: Forgery) -> WitnessReading | None:
    try:
        return read_witness(forged.calldata, WITNESS_AT, by_hash=True)
    except WitnessMalformed:
        return None


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_malformed_or_shows_another_root(name: str) -> None:
    forged = REFUSED[name]
    reading, accumulated_root = read(forged), forged.setup[0][-32:]
    if name.startswith("point_3_"):
        assert reading is None, "a shifted depth is malformed, whatever the root"
    else:
        assert (
            reading is None
            or reading.state_root != accumulated_root
            or reading.end != len(forged.calldata)
        )
