"""Deliveries of a batch: each malformed one is refused with its code, path and sentence."""

import copy
from typing import Any

import pytest

from queries.models import Batch
from tests.queries.api.served_api import HERE, OTHER_WALLET, WALLET, make_key, submit

pytestmark = [pytest.mark.django_db, pytest.mark.either_database, pytest.mark.urls(HERE)]

SLOT = f"0x{7:064x}"
BLOCK = {
    "header": ["BASE_FEE_PER_GAS"],
    "accounts": {
        WALLET.lower(): {"props": ["BALANCE"], "slots": ["0x7", "0x8"]},
        "vitalik.eth": {"props": ["NONCE"]},
    },
}
DELIVERY = {"to": OTHER_WALLET, "function": "f(uint256)", "args": ["5"], "gas": "200000"}
ONE_BLOCK = {"11155111": {"block:5": BLOCK}}
TWO_BLOCKS = {"11155111": {"block:5": BLOCK, "block:6": BLOCK}}
TWO_CHAINS = {"11155111": {"block:5": BLOCK}, "10": {"block:5": {"header": ["NONCE"]}}}


def answer_to(delivery: object, data: object = ONE_BLOCK) -> Any:
    content = {"destinationChainId": "11155111", "fee": "0", "data": data, "deliver": [delivery]}
    return submit(make_key(), content).json()


def call(function: str, *args: object, **members: object) -> dict[str, object]:
    return {**DELIVERY, "function": function, "args": list(args), **members}


def check_refusal(answer: Any, code: str, path: str, sentence: str) -> None:
    assert (answer.get("code"), answer.get("path")) == (code, path), answer
    assert answer["error"].startswith(f"{path} {sentence}"), answer["error"]
    assert answer["error"].endswith(".")
    assert len(answer["error"]) < 1_000


def test_a_delivery_is_accepted() -> None:
    condition = {"function": "isDone(uint256) view returns (bool)", "args": ["$block"]}
    placeholders = [
        "$block", "$timestamp", "$blockHash", "$registry", f"$value({WALLET}.BALANCE)",
        f"$value({WALLET.lower()}.{SLOT})", "$value(vitalik.eth.NONCE)",
        "$value(BASE_FEE_PER_GAS)", "$header", f"$accountProof({WALLET})",
        f"$storageProof({WALLET}, 0x7)", f"$storageProof({WALLET},0x07,0x8)",
        f"$proof({WALLET}, 0x7, 0x8)", "$witness",
    ]  # fmt: skip
    function = (
        "function f(uint64 a, uint32, bytes32, address, int128, bytes32, uint8, uint, bytes, "
        "bytes[] memory nodes, bytes, bytes, bytes, bytes) external payable returns (uint256);"
    )
    errors = ["error Stale(uint256 block, uint newest);", "Closed()"]
    accepted = answer_to(call(function, *placeholders, unless=condition, errors=errors))
    assert "internalId" in accepted
    nested = call("f((string,bytes32[2])[] items)", [["$$5", ["$blockHash", "$blockHash"]]])
    assert "internalId" in answer_to(nested, TWO_BLOCKS | ONE_BLOCK)
    assert Batch.objects.count() == 2


def test_placeholders_need_one_block_and_registries_one_chain() -> None:
    check_refusal(
        answer_to(call("f(uint256)", "$block"), TWO_BLOCKS),
        "unknown_placeholder",
        "deliver[0].args[0]",
        'is "$block", which stands for a value of one block, but the batch has 2 blocks. Submit '
        "one batch for each block.",
    )
    assert "internalId" in answer_to(call("f(address)", "$registry"), TWO_BLOCKS)
    check_refusal(
        answer_to(call("f(address)", "$registry"), TWO_CHAINS),
        "unknown_placeholder",
        "deliver[0].args[0]",
        'is "$registry", but the batch has 2 source chains, each with a registry. Submit one ',
    )
    assert "internalId" in answer_to(call("f(uint256)", "5"), TWO_CHAINS)


@pytest.mark.parametrize(
    ("change", "code", "path", "sentence"),
    [
        ({"to": None}, "wrong_type", "to", 'must be text in quotes, such as "0xd8dA6BF26964aF'),
        ({"to": "vitalik.eth"}, "delivery_malformed", "to", 'is "vitalik.eth", but must be a con'),
        ({"to": WALLET[:-1]}, "delivery_malformed", "to", f'is "{WALLET[:-1]}", but must be a '),
        ({"to": WALLET.replace("d8dA", "D8dA")}, "delivery_malformed", "to",
         (f"is {WALLET.replace('d8dA', 'D8dA')}, but its EIP-55 checksum is wrong, so a digit may "
         f"be mistyped. With a correct checksum it is {WALLET}.")),
        ({"gas": 200_000}, "wrong_type", "gas", 'must be text in quotes, such as "200000"'),
        ({"gas": "20999"}, "delivery_malformed", "gas", 'is "20999", but must be a decimal whole '),
        ({"gas": "5000001"}, "delivery_malformed", "gas", 'is "5000001", but must be a decimal '),
        ({"gas": None}, "wrong_type", "gas", "must not be null. Leave it out instead."),
        ({"gas": "0x5208"}, "delivery_malformed", "gas", 'is "0x5208", but must be a decimal '),
        ({"gas": "9" * 5_000}, "delivery_malformed", "gas", 'is "9999'),
        ({"value": "1"}, "unknown_field", "value", "is an unknown field; the known fields are "),
        ({"args": None}, "wrong_type", "args", "must be a list, not null."),
        ({"args": {"a": "5"}}, "wrong_type", "args", "must be a list, not an object."),
        ({"args": []}, "argument_malformed", "args", "has 0 values, but f(uint256) takes 1."),
        ({"unless": None}, "wrong_type", "unless", "must not be null. Leave it out instead."),
        ({"unless": {"function": "f() returns (bool)", "args": []}}, "function_malformed",
         "unless.function", 'is "f() returns (bool)", but must be a view or pure function that '),
        ({"unless": {"function": "f() view returns (uint256)", "args": []}}, "function_malformed",
         "unless.function", 'is "f() view returns (uint256)", but must be a view or pure '),
        ({"unless": {"function": "f() view returns (bool,bool)", "args": []}}, "function_malformed",
         "unless.function", 'is "f() view returns (bool,bool)", but must be a view or pure '),
        ({"unless": {"function": "f(bool) view returns (bool)", "args": ["5"]}},
         "argument_malformed", "unless.args[0]", 'is "5", but bool takes true or false.'),
        ({"errors": "Stale()"}, "wrong_type", "errors", "must be a list, not text."),
        ({"errors": 17 * ["Stale()"]}, "list_too_long", "errors", "has more than 16 entries."),
        ({"errors": ["Stale(uint257)"]}, "function_malformed", "errors[0]",
         'is "Stale(uint257)", which is not an error: '),
        ({"errors": ["Stale()", "Stale(uint256[])"]}, "function_malformed", "errors[1]",
         'is "Stale(uint256[])", which is not an error: the parameters of an error may not be '),
        ({"errors": [f"E{'a' * 200}()"]}, "function_malformed", "errors[0]",
         "has 203 characters; at most 200 are allowed."),
    ],
)  # fmt: skip
def test_a_malformed_delivery_is_refused(
    change: dict[str, object], code: str, path: str, sentence: str
) -> None:
    check_refusal(answer_to(DELIVERY | change), code, f"deliver[0].{path}", sentence)


def test_missing_members_and_too_many_deliveries_are_refused() -> None:
    for member in DELIVERY.keys() - {"gas"}:
        delivery = copy.deepcopy(DELIVERY)
        del delivery[member]
        check_refusal(answer_to(delivery), "missing_field", f"deliver[0].{member}", "is missing: ")
    content = {"destinationChainId": "11155111", "fee": "0", "data": ONE_BLOCK}
    accepted = submit(make_key(), content | {"deliver": 16 * [DELIVERY]}).json()
    assert "internalId" in accepted
    refused = submit(make_key(), content | {"deliver": 17 * [DELIVERY]}).json()
    check_refusal(refused, "list_too_long", "deliver", "has more than 16 entries.")
    assert submit(make_key(), content | {"deliver": None}).json()["code"] == "wrong_type"


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("", "a name is expected instead of the end."),
        ("f", '"(" is expected instead of the end.'),
        ("f(", "a type is expected instead of the end."),
        ("f(uint256", '"," or ")" is expected instead of the end.'),
        ("f(uint256,)", 'a type is expected instead of ")".'),
        ("f(uint256 a b)", '"," or ")" is expected instead of "b".'),
        ("f(uint256 a[])", '"," or ")" is expected instead of "[]".'),
        ("f(uint256[0])", 'the length of an array is expected instead of "[0]".'),
        ("f(uint256[n])", '"[" is unexpected.'),
        ("f(uint7)", '"uint7" is not one of the types address, bool, bytes, int, string and uint,'),
        ("f(uint264)", '"uint264" is not one'),
        ("f(bytes33)", '"bytes33" is not one'),
        ("f(bytes0)", '"bytes0" is not one'),
        ("f(bool8)", '"bool8" is not one'),
        ("f(IERC20 token)", '"IERC20" is not one'),
        ("f(fixed128x18)", '"fixed128x18" is not one'),
        ("f(function)", '"function" is not one'),
        ("f(())", 'a type is expected instead of ")".'),
        ("f((uint256)", '"," or ")" is expected instead of the end.'),
        (f"f({9 * '('}bool{9 * ')'})", "at most 8 tuples may be nested."),
        ("f() internal", '"internal" is unexpected; after its parameters may stand external, '),
        ("f() view pure", '"pure" is unexpected; '),
        ("f() returns ", '"(" is expected instead of the end.'),
        ("f() returns (bool) view", 'the end is expected instead of "view".'),
        ("f()()", '"(" is unexpected; '),
        ("5()", '"5" is unexpected.'),
        ("f(\u0661)", '"\u0661" is unexpected.'),
        ("f();f()", 'the end is expected instead of "f".'),
    ],
)
def test_a_malformed_function_is_refused(function: str, reason: str) -> None:
    answer = answer_to(call(function))
    sentence = f'is "{function}", which is not a function: '
    check_refusal(answer, "function_malformed", "deliver[0].function", sentence)
    assert f"function: {reason}" in answer["error"]
    assert 'such as "onBalance(address,uint256,uint256)"' in answer["error"]


def test_a_long_function_is_refused() -> None:
    for function in (f"f({'(' * 998}", "f(" + "uint256," * 200, "f(uint256" + "[]" * 500 + ")"):
        answer = answer_to(call(function))
        assert (answer["code"], answer["path"]) == ("function_malformed", "deliver[0].function")
    assert "internalId" in answer_to(call("f(" + ",".join(["bool"] * 190) + ")", *[True] * 190))


@pytest.mark.parametrize(
    ("kind", "value", "place", "sentence"),
    [
        ("uint8", "256", "", 'is "256", but uint8 takes numbers from 0 to 2^8-1.'),
        ("uint8", -1, "", 'is "-1", but uint8 takes numbers from 0 to 2^8-1.'),
        ("int8", "128", "", 'is "128", but int8 takes numbers from -2^7 to 2^7-1.'),
        ("int8", "-129", "", 'is "-129", but int8 takes'),
        ("uint", "0x1" + 64 * "0", "", 'is "0x1000'),
        ("uint256", 2**53, "", "is a number above 2^53, which many programs round."),
        ("uint256", 10**4_000, "", "is a number above 2^53"),
        ("uint256", 1.5, "", ('is a number, but uint256 takes a whole number as text, such as "42" '
         'or "0x2a". Placeholders for it: $block, $timestamp, $value(NAME).')),
        *(("uint256", text, "", f'is "{text}", but uint256 takes a whole number')
          for text in ("", "01", "-0", "+1", " 1", "1e3", "0x", "0xg", "1_000", "\u0661", "-0x1")),
        ("uint256", True, "", "is true, but uint256 takes a whole number"),
        ("uint256", None, "", "is null, but uint256 takes a whole number"),
        ("uint256", ["1"], "", "is a list, but uint256 takes a whole number"),
        ("bool", "true", "", 'is "true", but bool takes true or false. Placeholders for it: $valu'),
        ("bool", 1, "", "is a number, but bool takes true or false."),
        ("address", "vitalik.eth", "", ('is "vitalik.eth", but address takes an address: 0x and 40 '
         "hex digits. Placeholders for it: $registry, $value(NAME).")),
        ("address", WALLET.replace("d8dA", "D8dA"), "",
         f"is {WALLET.replace('d8dA', 'D8dA')}, but its EIP-55 checksum is wrong"),
        ("bytes4", "0x010203", "", 'is "0x010203", but bytes4 takes 0x and 8 hex digits.'),
        ("bytes32", "0x" + 66 * "0", "", 'is "0x000'),
        ("bytes", "0x1", "", 'is "0x1", but bytes takes 0x and an even number of hex digits. P'),
        ("bytes", "00", "", 'is "00", but bytes takes'),
        ("string", 5, "", "is a number, but string takes text."),
        ("string", "$5", "", 'is "$5", which is not a placeholder; the placeholders are $block, '),
        ("uint256[]", "5", "", 'is "5", but uint256[] takes a list of values.'),
        ("uint256[]", ["1", "x"], "[1]", 'is "x", but uint256 takes a whole number'),
        ("uint256[2]", ["1"], "", "is a list of 1 value, but uint256[2] takes 2."),
        ("uint256[][2]", [["1"], ["1", False]], "[1][1]", "is false, but uint256 takes"),
        ("uint256[2][]", [["1", "2"], ["1"]], "[1]", "is a list of 1 value, but uint256[2] takes "),
        ("(uint256,bytes)", ["1"], "", "is a list of 1 value, but (uint256,bytes) takes 2."),
        ("(uint256,bytes)", {"a": 1}, "", "is an object, but (uint256,bytes) takes a list of valu"),
        ("(uint256,(bool,string)[])[]", [["1", [[True, "a"], [True, 5]]]], "[0][1][1][1]",
         "is a number, but string takes text."),
        ("(bytes,bool[])", ["0x" + 60_000 * "00", 2_300 * [True]], None,
         "has more than 131,072 bytes when encoded,"),
        ("uint8[]", 4_096 * ["1"], None, "has more than 131,072 bytes when encoded,"),
    ],
)  # fmt: skip
def test_an_argument_that_does_not_fit_is_refused(
    kind: str, value: object, place: str | None, sentence: str
) -> None:
    path = "deliver[0].args" if place is None else f"deliver[0].args[1]{place}"
    code = "unknown_placeholder" if value == "$5" else "argument_malformed"
    check_refusal(answer_to(call(f"f(bool,{kind})", True, value)), code, path, sentence)


UNKNOWN = [
    ("$", "which is not a placeholder; the placeholders are $block, $timestamp, "),
    ("$Block", "which is not a placeholder;"),
    ("$block()", "but this placeholder is written $block."),
    ("$value", "but this placeholder is written $value(NAME)."),
    ("$value()", "which does not name a fact; write it like $value(0xACCOUNT.BALANCE), "),
    ("$value(BALANCE)", "which does not name a fact;"),
    (f"$value({WALLET})", "which does not name a fact;"),
    (f"$value({WALLET}.balance)", "which does not name a fact;"),
    (f"$value({WALLET}.BALANCE,5)", "which does not name a fact;"),
    (f"$value({WALLET}.NONCE)", (f"but the batch does not ask for NONCE of {WALLET}; it asks for "
     "these facts of it: BALANCE, slot 0x7 and slot 0x8.")),
    (f"$value({WALLET}.0x9)", f"but the batch does not ask for slot 0x9 of {WALLET}; it asks "),
    (f"$value({OTHER_WALLET}.BALANCE)", ("but the batch does not ask for the account "
     f'"{OTHER_WALLET}"; it asks for these accounts: {WALLET} and vitalik.eth.')),
    ("$value(other.eth.NONCE)", 'but the batch does not ask for the account "other.eth"; it asks'),
    ("$value(.NONCE)", "which does not name a fact;"),
    ("$value(GAS_USED)", ("but the batch does not ask for this field of the header; it asks for "
     "these fields of the header: BASE_FEE_PER_GAS.")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "sentence"), UNKNOWN)
def test_an_unknown_placeholder_is_refused(text: str, sentence: str) -> None:
    answer = answer_to(call("f(uint256[])", ["5", text]))
    check_refusal(
        answer, "unknown_placeholder", "deliver[0].args[0][1]", f'is "{text}", {sentence}'
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"$storageProof({WALLET})", "but this placeholder is written $storageProof(ACCOUNT, SLOT"),
        (f"$proof({WALLET})", "but this placeholder is written $proof(ACCOUNT, SLOT, …)."),
        (f"$accountProof({WALLET},0x7)", "but this placeholder is written $accountProof(ACCOUNT)."),
        ("$accountProof()", "but this placeholder is written $accountProof(ACCOUNT)."),
        (f"$storageProof({WALLET},7)", 'in which "7" is not a slot: 0x and 1 to 64 hex digits.'),
        (f"$storageProof({WALLET},0x9)", f"but the batch does not ask for slot 0x9 of {WALLET};"),
        (f"$proof({WALLET},0x7,0x9)", f"but the batch does not ask for slot 0x9 of {WALLET};"),
        (f"$accountProof({OTHER_WALLET})", "but the batch does not ask for the account"),
    ],
)
def test_an_unknown_proof_is_refused(text: str, problem: str) -> None:
    answer = answer_to(call("f(bytes)", text))
    assert answer["code"] == "unknown_placeholder"
    check_refusal(answer, "unknown_placeholder", "deliver[0].args[0]", "is ")
    assert problem in answer["error"], answer["error"]


@pytest.mark.parametrize(
    ("kind", "text", "types"),
    [
        ("uint24", "$block", "an unsigned integer of at least 32 bits"),
        ("int256", "$timestamp", "an unsigned integer of at least 32 bits"),
        ("bytes32", "$block", "an unsigned integer of at least 32 bits"),
        ("uint256", "$blockHash", "bytes32"),
        ("bytes32", "$registry", "an address"),
        ("bytes31", f"$value({WALLET}.BALANCE)", "an integer, bytes32, an address or a bool"),
        ("string", f"$value({WALLET}.BALANCE)", "an integer, bytes32, an address or a bool"),
        ("uint256[]", f"$value({WALLET}.BALANCE)", "an integer, bytes32, an address or a bool"),
        ("bytes", f"$value({WALLET}.BALANCE)", "an integer, bytes32, an address or a bool"),
        ("(uint256,bool)", "$block", "an unsigned integer of at least 32 bits"),
        ("bytes32", "$header", "bytes"),
        ("bytes[]", "$header", "bytes"),
        ("bytes[]", "$witness", "bytes"),
        ("bytes32[]", f"$accountProof({WALLET})", "bytes or bytes[]"),
        ("bytes[3]", f"$accountProof({WALLET})", "bytes or bytes[]"),
        ("bytes[][]", f"$storageProof({WALLET},0x7)", "bytes, or with one slot bytes[]"),
        ("bytes[]", f"$storageProof({WALLET},0x7,0x8)", "bytes, or with one slot bytes[]"),
        ("bytes[]", f"$proof({WALLET},0x7)", "bytes"),
    ],
)
def test_a_placeholder_of_another_type_is_refused(kind: str, text: str, types: str) -> None:
    answer = answer_to(call(f"f({kind})", text))
    check_refusal(answer, "argument_malformed", "deliver[0].args[0]", "is ")
    expected = f", which stands for {types}, but the parameter's type is {kind}."
    assert expected in answer["error"], answer["error"]


NAMED = {"from": OTHER_WALLET, "function": "lastBlock()"}
NAMED_DATA = {"11155111": {"block:$block": BLOCK}}
EVENTS = {"11155111": {"block:5": {"receipts": [0]}}}


@pytest.mark.parametrize(
    ("change", "code", "path", "sentence"),
    [
        ({"deliver": []}, "empty_request", "prove", "is false, and the batch delivers nothing"),
        ({"data": EVENTS}, "delivery_malformed", "prove", "is false, and the batch asks for"),
        ({"deliver": [call("f(address)", "$registry")]}, "unknown_placeholder",
         "deliver[0].args[0]", 'is "$registry", but with `prove` false no registry has the facts.'),
        ({"destinationChainId": "137"}, "route_unsupported", "destinationChainId",
         "is a chain to which this server sends nothing, only to 10 and 11155111."),
        ({"data": {"137": {"block:5": {"header": ["NONCE"]}}}},
         "route_unsupported", "data.137", "is a chain of which this server has no nodes."),
        ({"data": NAMED_DATA}, "missing_field", "block", "is missing: the contract that names"),
        ({"block": NAMED}, "selector_malformed", "block", "names a contract: then `data` has one"),
        ({"block": NAMED, "data": TWO_BLOCKS}, "selector_malformed", "block", "names a contract:"),
        ({"block": {**NAMED, "function": "at(uint256)"}, "data": NAMED_DATA}, "function_malformed",
         "block.function", 'is "at(uint256)", but must take no arguments, such as "lastBlock()".'),
        ({"block": {**NAMED, "from": "0x1"}, "data": NAMED_DATA}, "delivery_malformed",
         "block.from", 'is "0x1", but must be a contract\'s address: 0x and 40 hex digits.'),
        ({"prove": "no"}, "wrong_type", "prove", "must be "),
    ],
)  # fmt: skip
def test_what_only_delivers_is_refused_where_it_cannot(
    change: dict[str, object], code: str, path: str, sentence: str
) -> None:
    content = {
        "destinationChainId": "11155111", "fee": "0", "data": ONE_BLOCK, "prove": False,
        "deliver": [call("f(uint256)", "$block")],
    }  # fmt: skip
    check_refusal(submit(make_key(), content | change).json(), code, path, sentence)
