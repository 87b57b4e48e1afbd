"""What `gas_report` measures, and what it refuses to measure."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from queries.chain.gas.cases import file_cases
from queries.chain.gas.chains import native_chain
from queries.chain.gas.corpus import read_corpus
from queries.chain.gas.trials import TrialFailed, floor_gas, run_case
from queries.management.gas_targets import TARGETS
from queries.proving.header_fields import HeaderField
from queries.proving.packing import CALLDATA_BYTES, pack
from queries.proving.rlp_items import encode_list, encode_string, split_list

pytestmark = pytest.mark.no_database

CONTRACT = "mainnet_21925176/0x00000000219ab540356cbb839cbe05303d7705fa"
EOA = "mainnet_21925176/0x4838b106fce9647bdf1e7877bf73ce8b0bad5f97"
SLOT = f"0x{1:064x}"
ABSENT = "goerli_7583802/0x456cb24d30eaa6affc2a6924dae0d2a0a8c99c73"
ABSENT_SLOT = "0x54cdd369e4e8a8515e52ca72ec816c2101831ad1f18bf44102ed171459c9b4f8"

Cases = dict[str, dict[str, Any]]


def gas_report(folder: Path, *options: str) -> str:
    out = StringIO()
    call_command("gas_report", "--corpus", str(folder), *options, stdout=out)
    return out.getvalue()


def in_json(folder: Path) -> Cases:
    listed = json.loads(gas_report(folder, "--json"))
    cases = {each["case"]: each for each in listed}
    assert len(cases) == len(listed), "a case is named twice"
    return cases


@pytest.fixture(scope="module")
def whole_corpus(corpus_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Cases:
    """Every file, of the long one as many accounts as are proven together."""
    folder = tmp_path_factory.mktemp("corpus")
    for file in corpus_folder.glob("*.json"):
        document = json.loads(file.read_text())
        document["accounts"] = document.get("accounts", [])[:100]
        (folder / file.name).write_text(json.dumps(document))
    return in_json(folder)


def test_every_case_has_its_name(whole_corpus: Cases) -> None:
    for account, slot in ((CONTRACT, SLOT), (ABSENT, ABSENT_SLOT)):
        assert {
            f"{account}/account",
            f"{account}/account-four-fields",
            f"{account}/header+account",
            f"{account}/header+account-four-fields",
            f"{account}/header+account+slot",
            f"{account}/{slot}/slot",
        } <= whole_corpus.keys()
    many = {f"mainnet_one_root_200/accounts-{count}" for count in (1, 10, 50, 100)}
    headers = {"sepolia_5244638_header/header", "header/accumulate"}
    reads = {"reads/accountField(BALANCE)", "reads/accountStorageSlotValues"}
    assert many | headers | reads <= whole_corpus.keys()


def test_the_figures_hold_together(whole_corpus: Cases) -> None:
    for case in whole_corpus.values():
        assert case["total_gas"] >= case["floor_gas"] > 21_000 * case["transactions"]
        assert case["execution_gas"] < case["total_gas"]
        above = case["total_gas"] - case["floor_gas"]
        assert ("above_floor" in case) is (above > 0)
        if above:
            assert case["above_floor"]["gas"] == above
            assert sum(case["above_floor"]["execution"].values()) == case["execution_gas"]
    many = whole_corpus["mainnet_one_root_200/accounts-100"]
    assert (many["facts"], many["transactions"]) == (100, 2)
    assert many["per_account"] == round(many["total_gas"] / 100)
    assert whole_corpus[f"{CONTRACT}/header+account+slot"]["facts"] == 3
    assert whole_corpus[f"{EOA}/account-four-fields"]["facts"] == 4


def test_the_targets_are_met(whole_corpus: Cases) -> None:
    for target in TARGETS:
        case = whole_corpus[target.case]
        assert case[target.figure] <= target.most, target.name
        if target.floor_rules:
            assert case["total_gas"] == case["floor_gas"], target.name


def test_the_figures_stand_beside_the_contracts(whole_corpus: Cases, repository: Path) -> None:
    readme = (repository / "queries" / "contracts" / "README.md").read_text()
    for target in TARGETS:
        figure = whole_corpus[target.case][target.figure]
        assert f"{figure:,}" in readme, f"{target.name} is {figure:,} now"
        assert f"{target.most:,}" in readme, target.name


def test_the_readme_opens_with_the_figures_of_now(whole_corpus: Cases, repository: Path) -> None:
    readme = (repository / "README.md").read_text()
    for target in TARGETS[:3]:
        assert f"| {whole_corpus[target.case][target.figure]:,} |" in readme, target.name


def test_an_account_without_code_pays_for_one_field_only(whole_corpus: Cases) -> None:
    four = whole_corpus[f"{EOA}/account-four-fields"]
    assert four["total_gas"] == whole_corpus[f"{EOA}/account"]["total_gas"]


def test_the_cheapest_way_is_taken(whole_corpus: Cases) -> None:
    case = whole_corpus[f"{CONTRACT}/header+account"]
    assert len(case["ways"]) == 4
    assert case["total_gas"] == min(case["ways"].values())
    # Before Cancun there is no beacon root to leave out.
    assert len(whole_corpus["goerli_7583802/header"]["ways"]) == 2


def test_the_table_is_for_reading(corpus_folder: Path, tmp_path: Path) -> None:
    shutil.copy(corpus_folder / "mainnet_21925176.json", tmp_path)
    table = gas_report(tmp_path)
    assert "\x1b" not in table
    assert "mainnet_21925176: NativeRegistry" in table
    assert "3 slots stored 66,300" in table
    summary = table[table.index("Targets") :]
    assert "header + account of depth 8" in summary
    assert "100 accounts" not in summary
    assert "not met" not in summary


def changed(folder: Path, to: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    document = json.loads((folder / "mainnet_21925176.json").read_text())
    change(document)
    (to / "changed.json").write_text(json.dumps(document))
    return to


def test_other_files_of_the_shape_are_measured(corpus_folder: Path, tmp_path: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        del document["block"]["hash"], document["block"]["number"]
        first, second = document["accounts"]
        first["address"] = None
        # The same slot once more, and the account once more without it.
        first["storageProof"] *= 2
        document["accounts"].append({**first, "storageProof": []})
        del second["storageProof"]

    cases = in_json(changed(corpus_folder, tmp_path, change))
    by_hash = json.loads((tmp_path / "changed.json").read_text())["accounts"][0]["addressHash"]
    assert cases["changed/header"]["registry"] == "native"
    named_by_hash = cases[f"changed/{by_hash}/header+account+slot"]
    assert (named_by_hash["registry"], named_by_hash["facts"]) == ("settable_by_hash", 3)
    assert f"changed/{by_hash}/{SLOT}/slot" in cases
    assert f"changed/{EOA.partition('/')[2]}/header+account" in cases
    assert not [name for name in cases if name.endswith("slots")]


def test_a_header_with_long_extra_data_is_measured(corpus_folder: Path, tmp_path: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        items = split_list(bytes.fromhex(document["block"]["headerRlp"][2:]))
        items[HeaderField.EXTRA_DATA] = encode_string(bytes(300))
        document["block"] |= {"headerRlp": f"0x{encode_list(items).hex()}", "hash": None}
        del document["accounts"]

    cases = in_json(changed(corpus_folder, tmp_path, change))
    assert len(cases["changed/header"]["ways"]) == 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "changed.json is not of the corpus's shape"),
        ("[]", "a corpus file must be an object"),
        ("{}", "block must be an object"),
        ('{"block": {"stateRoot": "0x12"}}', "stateRoot must have 32 bytes"),
        (json.dumps({"block": {"stateRoot": f"0x{1:064x}"}}), "neither a header nor an account"),
    ],
)
def test_a_file_of_another_shape_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "changed.json").write_text(text)
    with pytest.raises(CommandError, match=sentence):
        gas_report(tmp_path)


def test_a_file_that_proves_something_else_is_refused(corpus_folder: Path, tmp_path: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        document["accounts"][0]["account"]["balance"] = "0x1"

    with pytest.raises(CommandError, match="balance is stated as 1, and proven as"):
        gas_report(changed(corpus_folder, tmp_path, change))


def test_a_header_of_another_block_is_refused(corpus_folder: Path, tmp_path: Path) -> None:
    def change(document: dict[str, Any]) -> None:
        document["block"]["number"] = "0x1"

    with pytest.raises(CommandError, match="the file states another"):
        gas_report(changed(corpus_folder, tmp_path, change))


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"holds no \.json file"):
        gas_report(tmp_path)
    with pytest.raises(CommandError, match="There is no folder"):
        gas_report(tmp_path / "nowhere")


def test_a_figure_without_its_facts_is_not_reported(corpus_folder: Path, tmp_path: Path) -> None:
    shutil.copy(corpus_folder / "sepolia_8423389.json", tmp_path)
    (file,) = read_corpus(tmp_path)
    case = next(case for case in file_cases(file) if case.name.endswith("/account"))
    with native_chain(file.block) as chain:
        assert run_case(chain, case).facts == 1
        wrong = replace(case, facts=(replace(case.facts[0], value=b"another"),))
        with pytest.raises(TrialFailed, match=r"BALANCE of 0x94a9.* was proven as"):
            run_case(chain, wrong)
        assert run_case(chain, case).facts == 1, "a case left something behind"


def test_the_floor_is_the_calldatas() -> None:
    assert floor_gas(b"") == 21_000
    assert floor_gas(b"\x00\x01\x02") == 21_000 + 10 + 80


def test_as_few_groups_as_fit_and_even_ones() -> None:
    def build(items: Any) -> bytes:
        return bytes(1000 + 3000 * len(items))

    groups = pack(range(100), build, 1000)
    assert [len(group) for group in groups] == [33, 33, 34]
    assert [item for group in groups for item in group] == list(range(100))
    assert all(len(build(group)) <= CALLDATA_BYTES for group in groups)
    assert [len(group) for group in pack(range(100), build, 30)] == [25, 25, 25, 25]
    assert [len(group) for group in pack(range(3), build, 1000)] == [3]
    assert [len(group) for group in pack(range(3), build, 1)] == [1, 1, 1]


def test_a_cut_falls_where_least_is_sent_twice() -> None:
    def build(items: Any) -> bytes:
        return bytes(1000 * len(items) + 5000 * len({item // 27 for item in items}))

    assert [len(group) for group in pack(range(54), build, 40)] == [27, 27]
    assert [len(group) for group in pack(range(50), build, 40)] == [27, 23]
