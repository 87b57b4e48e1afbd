"""Everybody whose batch was rejected is told what to do."""

import pytest

from explorer.advice import ADVICE
from queries.api.batch_codes import rejection_codes

pytestmark = pytest.mark.no_database


def test_every_code_has_its_sentence_and_no_other_has() -> None:
    assert set(ADVICE) == set(rejection_codes())


def test_they_are_sentences() -> None:
    for sentence in ADVICE.values():
        assert sentence[0].isupper()
        assert sentence.endswith(".")
        assert "!" not in sentence
