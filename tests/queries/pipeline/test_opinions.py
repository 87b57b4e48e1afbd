"""What nodes say of a price or a refusal counts where all say it."""

import pytest

from queries.chain.errors import CallReverted, FeesTooHigh
from queries.pipeline.costs import HeldBack, TooLittleOffered
from queries.pipeline.opinions import Opinions

pytestmark = pytest.mark.no_database
REVERTED = CallReverted("It reverts.", b"")


def test_those_are_too_poor_whom_all_name_and_by_the_least_that_one_asks() -> None:
    said = Opinions()
    said.note(TooLittleOffered({"a": 5, "b": 1}), 0)
    said.note(REVERTED, 1)
    said.note(HeldBack({"a": 3, "c": 1}), 2)
    too_poor = said.of_all()
    assert too_poor
    assert too_poor.needed == {"a": 3}


def test_what_it_takes_is_the_middle_one_of_three() -> None:
    """So that whoever submits again is not told once more that it is too little."""
    said = Opinions()
    for node, wei in enumerate((1, 7, 9)):
        said.note(TooLittleOffered({"a": wei}), node)
    too_poor = said.of_all()
    assert too_poor
    assert too_poor.needed == {"a": 7}


def test_where_each_names_another_nobody_is_but_whom_two_name() -> None:
    said = Opinions()
    said.note(TooLittleOffered({"a": 5}), 0)
    said.note(TooLittleOffered({"b": 5}), 1)
    assert said.of_all() is None
    said.note(TooLittleOffered({"b": 4}), 2)
    too_poor = said.of_all()
    assert too_poor
    assert too_poor.needed == {"b": 4}


def test_while_gas_is_too_dear_for_others_one_node_is_not_enough() -> None:
    said = Opinions()
    said.note(FeesTooHigh("Gas is dear."), 0)
    said.note(TooLittleOffered({"a": 5}), 1)
    with pytest.raises(FeesTooHigh):
        said.of_all()
    said.note(TooLittleOffered({"a": 4}), 2)
    too_poor = said.of_all()
    assert too_poor
    assert too_poor.needed == {"a": 4}


def test_what_all_refuse_is_refused() -> None:
    said = Opinions()
    said.note(REVERTED, 0)
    with pytest.raises(CallReverted):
        said.of_all()


def test_one_that_answers_for_another_is_heard_once() -> None:
    said = Opinions()
    said.note(FeesTooHigh("Gas is dear."), 0)
    said.note(TooLittleOffered({"a": 5}), 1)
    said.note(TooLittleOffered({"a": 5}), 1)
    with pytest.raises(FeesTooHigh):
        said.of_all()
