"""The corpus of recorded blocks and proofs, in a folder next to the repository."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def corpus_folder() -> Path:
    folder = Path(__file__).parents[2] / "shared" / "corpus"
    if not folder.is_dir():
        pytest.skip(f"the recorded blocks and proofs are not at {folder}")
    return folder
