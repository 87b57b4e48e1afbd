"""A whole service, which all tests of the client ask."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands import managing
from tests.installation import Installation, installation


@pytest.fixture(scope="session")
def it(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("installation")
    with installation(repository, folder, managing(repository, folder)) as running:
        yield running
