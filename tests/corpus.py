"""The corpus of recorded blocks and proofs, in a folder next to the repository."""

from pathlib import Path

import pytest

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"


@pytest.fixture(scope="session")
def corpus_folder() -> Path:
    if not CORPUS.is_dir():
        pytest.skip(f"the recorded blocks and proofs are not at {CORPUS}")
    return CORPUS
