"""The witness that the contracts' README explains byte by byte is a real one."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from queries.proving.witnesses import AccountField, AccountRequest, build_witness
from tests.bench.corpus import read_recorded_block

pytestmark = pytest.mark.no_database

README = Path(__file__).parents[3] / "queries" / "contracts" / "README.md"
ROW = re.compile(r"^\| (\d+)(?: … \d+)? \| (`[^|]+) \|", re.MULTILINE)


def test_its_bytes_stand_where_the_table_says(corpus_folder: Path) -> None:
    block = read_recorded_block(json.loads((corpus_folder / "mainnet_17654287.json").read_text()))
    told = README.read_text().partition("## A witness, byte by byte")[2].partition("\n## ")[0]
    (proof,) = [each for each in block.accounts if f"0x{(each.address or b'').hex()}" in told]
    slots = tuple(each for each in proof.slots if each.slot == 0)
    request = AccountRequest(replace(proof, slots=slots), frozenset({AccountField.BALANCE}))
    witness = build_witness([request])
    assert f"{len(witness):,} bytes" in told
    rows = ROW.findall(told)
    assert len(rows) > 15
    for offset, shown in rows:
        first, *rest = re.findall("`([^`]+)`", shown)
        begins, _, ends = "".join([first, *rest]).replace(" ", "").partition("…")
        at = witness[int(offset) :].hex()
        assert at.startswith(begins), offset
        if len(ends) == 4:  # of a word, an address or the last of several hashes
            assert ends in at, offset
