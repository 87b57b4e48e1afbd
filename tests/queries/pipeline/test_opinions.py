"""What nodes say of a price or a refusal counts where all say it."""

import pytest

from queries.chain.errors import CallReverted, FeesTooHigh, InsufficientFunds
from queries.pipeline.costs import HeldBack, TooLittleOffered
from queries.pipeline.opinions import Opinions

pytestmark = pytest.mark.no_database
REVERTED = CallReverted("It reverts.", b"")
POOR_SIGNER = InsufficientFunds("The signer has too little.")


def test_those_are_too_poor_whom_all_name_and_by_the_least_that_one_asks() -> None:
    said = Opinions(3)
    said.note(TooLittleOffered({"a": 5, "b": 1}), 0)
    said.note(REVERTED, 1)
    said.note(HeldBack({"a": 3, "c": 1}), 2)
    too_poor = said.of_all()
    assert too_poor
    assert too_poor.needed == {"a": 3}


@pytest.mark.parametrize(
    ("nodes", "other"),
    [(3, REVERTED), (3, POOR_SIGNER), (2, POOR_SIGNER), (3, None)],
)
def test_one_is_not_enough_where_another_says_otherwise(
    nodes: int, other: CallReverted | InsufficientFunds | None
) -> None:
    """Of two it is where the other one refuses everything, but not what it says of the signer."""
    said = Opinions(nodes)
    said.note(TooLittleOffered({"a": 5}), 0)
    if other is None:
        said.note_otherwise(1)
        assert said.of_all() is None
        return
    said.note(other, 1)
    with pytest.raises(type(other)):
        said.of_all()


def test_of_two_one_that_refuses_all_keeps_the_other_from_nothing() -> None:
    said = Opinions(2)
    said.note(TooLittleOffered({"a": 5}), 0)
    said.note(REVERTED, 1)
    too_poor = said.of_all()
    assert too_poor
    assert too_poor.needed == {"a": 5}


def test_what_it_takes_is_the_middle_one_of_three() -> None:
    """So that whoever submits again is not told once more that it is too little."""
    said = Opinions(3)
    for node, wei in enumerate((1, 7, 9)):
        said.note(TooLittleOffered({"a": wei}), node)
    too_poor = said.of_all()
    assert too_poor
    assert too_poor.needed == {"a": 7}


def test_where_each_names_another_nobody_is_but_whom_two_name() -> None:
    said = Opinions(3)
    said.note(TooLittleOffered({"a": 5}), 0)
    said.note(TooLittleOffered({"b": 5}), 1)
    assert said.of_all() is None
    said.note(TooLittleOffered({"b": 4}), 2)
    too_poor = said.of_all()
    assert too_poor
    assert too_poor.needed == {"b": 4}


def test_while_gas_is_too_dear_for_others_one_node_is_not_enough() -> None:
    said = Opinions(3)
    said.note(FeesTooHigh("Gas is dear."), 0)
    said.note(TooLittleOffered({"a": 5}), 1)
    with pytest.raises(FeesTooHigh):
        said.of_all()
    said.note(TooLittleOffered({"a": 4}), 2)
    too_poor = said.of_all()
    assert too_poor
    assert too_poor.needed == {"a": 4}


def test_what_all_refuse_is_refused() -> None:
    said = Opinions(3)
    said.note(REVERTED, 0)
    with pytest.raises(CallReverted):
        said.of_all()


def test_one_that_answers_for_another_is_heard_once() -> None:
    said = Opinions(3)
    said.note(FeesTooHigh("Gas is dear."), 0)
    said.note(TooLittleOffered({"a": 5}), 1)
    said.note(TooLittleOffered({"a": 5}), 1)
    with pytest.raises(FeesTooHigh):
        said.of_all()
