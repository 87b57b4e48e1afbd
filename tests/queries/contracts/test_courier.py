"""The courier calls a stranger's contract with bounded gas, and protects the sender from it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pytest
from eth_abi.abi import encode

from explorer.demo.local_node import GAS_LIMIT, LocalNode
from queries.contracts.abi import load_artifact, selector
from queries.contracts.compiler import CONTRACTS, SETTINGS
from queries.contracts.create2 import (
    FACTORY,
    SALT,
    courier_address,
    courier_init_code,
    create2_address,
    delivery_calldata,
)
from queries.proving.registry_calls import prove_call
from tests.builds import compile_cached, contract_for_tests
from tests.queries.attacks.switched_checks import Check
from tests.rigs.deployed_contracts import DeployedContract, error_name, reverted_at_end

pytestmark = pytest.mark.no_database

MAX_REASON = 1_024  # bytes
MAX_OVERHEAD = (
    30_000  # what a transaction takes beside the gas of the target, its base gas included
)
TARGET, DELEGATE, NO_CODE = (f"0x{byte * 20}" for byte in ("7a", "de", "0e"))
IDENTITY = "0x0000000000000000000000000000000000000004"
MEGABYTE = "620f4240"  # PUSH3 1,000,000

# Targets
LOGS_GAS = "5a5f5260205fa000"  # the gas that it got, without the 2 of the first instruction
LOGS_CONTEXT = "335f52346020523260405260605fa000"  # msg.sender, msg.value and tx.origin
LOGS_CALLDATA = "365f5f37365fa000"
REVERTS_WITH_CALLDATA = "365f5f37365ffd"
REVERTS_WITH_A_MEGABYTE = f"{MEGABYTE}5ffd"
RETURNS_A_MEGABYTE = f"{MEGABYTE}5ff3"
REVERTS_WITH_ITS_CODE = "6104005f5f396104005ffd"  # padded to 1,024 bytes
BURNS_ALL_GAS = "fe"


@dataclass(frozen=True)
class Call:
    """A transaction to the courier."""

    data: bytes
    gas: int = GAS_LIMIT
    value: int = 0


@dataclass(frozen=True)
class Outcome:
    success: bool
    data: bytes
    gas_used: int
    logs: list[bytes]

    @property
    def error(self) -> str:
        return error_name("Courier", self.data)


class Courier:
    """A courier on a node. Calls are simulated: none changes the chain."""

    def __init__(self, node: LocalNode, address: str) -> None:
        self.node = node
        self.address = address

    def simulate(
        self, calls: Sequence[Call], code: str = "", others: Mapping[str, str] | None = None
    ) -> list[Outcome]:
        """The outcomes of these calls with this code at TARGET, and other code elsewhere."""
        codes = {TARGET: code, **(others or {})}
        block = {
            "calls": [
                {
                    "from": self.node.payer,
                    "to": self.address,
                    "data": f"0x{call.data.hex()}",
                    "gas": hex(call.gas),
                    "value": hex(call.value),
                }
                for call in calls
            ],
            "blockOverrides": {"gasLimit": hex(GAS_LIMIT * len(calls))},
            "stateOverrides": {address: {"code": f"0x{code}"} for address, code in codes.items()},
        }
        (answer,) = self.node.rpc.ask("eth_simulateV1", {"blockStateCalls": [block]}, "latest")
        return [
            Outcome(
                row["status"] == "0x1",
                bytes.fromhex(row["returnData"][2:]),
                int(row["gasUsed"], 16),
                [bytes.fromhex(log["data"][2:]) for log in row["logs"]],
            )
            for row in answer["calls"]
        ]

    def deliver(
        self, gas_limit: int, data: bytes = b"", *, target: str = TARGET, code: str = ""
    ) -> Outcome:
        (outcome,) = self.simulate([Call(delivery_calldata(target, gas_limit, data))], code)
        return outcome

    def with_more_and_more_gas(
        self, gas_limit: int, code: str, others: Mapping[str, str] | None = None
    ) -> list[Outcome]:
        """Deliveries by transactions with less gas than is needed, and with more."""
        call = delivery_calldata(TARGET, gas_limit, b"")
        enough = gas_limit * 64 // 63 + 2 * MAX_OVERHEAD
        calls = [Call(call, gas) for gas in range(gas_limit + 25_000, enough, 83)]
        return self.simulate(calls, code, others)


@pytest.fixture(scope="module")
def courier(shared_node: LocalNode) -> Courier:
    """The courier at its address."""
    if shared_node.rpc.ask("eth_getCode", courier_address(), "latest") == "0x":
        shared_node.send(FACTORY, SALT + courier_init_code())
    return Courier(shared_node, courier_address())


@pytest.fixture(scope="module")
def calls_back(shared_node: LocalNode) -> str:
    """A target that calls the contract in its calldata."""
    return shared_node.deploy(contract_for_tests("CallsBack"))


def call_back(target: str, data: bytes) -> bytes:
    return encode(["address", "bytes"], [target, data])


# Deliveries


def test_the_code_is_at_its_address_and_small(courier: Courier) -> None:
    code = bytes.fromhex(courier.node.rpc.ask("eth_getCode", courier.address, "latest")[2:])
    assert code == load_artifact("Courier").deployed_bytecode
    assert len(code) < 2_500
    storage, logs = {0x54, 0x55, 0x5C, 0x5D}, range(0xA0, 0xA5)
    other_code = {0xF0, 0xF2, 0xF4, 0xF5, 0xFF}  # creates, runs as its own, or ends it
    assert set(instructions(code)) & {*storage, *logs, *other_code} == set()


def instructions(code: bytes) -> Iterator[int]:
    """The opcodes, without the data of PUSH instructions."""
    place = 0
    while place < len(code):
        yield code[place]
        place += 1 + max(code[place] - 0x5F, 0) * (code[place] < 0x80)


def test_the_target_sees_the_courier_and_no_value(courier: Courier) -> None:
    outcome = courier.deliver(100_000, code=LOGS_CONTEXT)
    types = ["address", "uint256", "address"]
    assert outcome.success
    assert outcome.logs == [encode(types, [courier.address, 0, courier.node.payer])]


@pytest.mark.parametrize("length", [0, 1, 4, 31, 32, 33, 20_000])
def test_the_target_gets_the_calldata(courier: Courier, length: int) -> None:
    data = (bytes(range(1, 251)) * 80)[:length]
    outcome = courier.deliver(1_000_000, data, code=LOGS_CALLDATA)
    assert (outcome.success, outcome.logs, outcome.data) == (True, [data], b"")


@pytest.mark.parametrize("gas_limit", [1_000, 100_000, 16_000_000])
def test_the_target_gets_exactly_the_named_gas(courier: Courier, gas_limit: int) -> None:
    outcome = courier.deliver(gas_limit, code=LOGS_GAS)
    assert outcome.logs == [(gas_limit - 2).to_bytes(32)]
    assert outcome.gas_used < MAX_OVERHEAD


def test_nodes_estimate_enough_gas(courier: Courier) -> None:
    gas_limit = 1_000_000
    call = delivery_calldata(TARGET, gas_limit, b"")
    transaction = {"from": courier.node.payer, "to": courier.address, "data": f"0x{call.hex()}"}
    overrides = {TARGET: {"code": f"0x{LOGS_GAS}"}}
    estimate = int(courier.node.rpc.ask("eth_estimateGas", transaction, "latest", overrides), 16)
    assert gas_limit * 64 // 63 < estimate < gas_limit * 64 // 63 + MAX_OVERHEAD
    (outcome,) = courier.simulate([Call(call, estimate)], LOGS_GAS)
    assert outcome.logs == [(gas_limit - 2).to_bytes(32)]


def test_at_the_least_gas_the_reason_is_whole(courier: Courier) -> None:
    """The target's account is delegated, and its delegate is not warm, which takes most gas."""
    reason = bytes.fromhex(REVERTS_WITH_ITS_CODE).ljust(MAX_REASON, b"\0")
    outcomes = courier.with_more_and_more_gas(2_000, *delegated(REVERTS_WITH_ITS_CODE))
    seen = ["whole" if outcome.data == reason else outcome.error for outcome in outcomes]
    refused = seen.count("GasTooLow")
    assert refused > 0
    first = seen.index("GasTooLow")
    assert seen[:first] == ["0x"] * first  # out of gas before
    assert set(seen[first + refused :]) == {"whole"}


# Others than users' contracts as targets


def test_a_registry_passes_on_its_own_error(courier: Courier, shared_node: LocalNode) -> None:
    registry = DeployedContract(shared_node, "NativeRegistry")
    garbage = prove_call([b"\x09garbage"])
    outcome = courier.deliver(1_000_000, garbage, target=registry.address)
    assert not outcome.success
    assert error_name("NativeRegistry", outcome.data) == registry.refusal(garbage)
    assert registry.refusal(garbage).isalpha()


def test_a_target_may_call_a_registry_or_itself(
    courier: Courier, shared_node: LocalNode, calls_back: str
) -> None:
    registry = DeployedContract(shared_node, "NativeRegistry")
    garbage = prove_call([b"\x09garbage"])
    inner = call_back(calls_back, call_back(registry.address, garbage))
    outcome = courier.deliver(1_000_000, inner, target=calls_back)
    assert error_name("NativeRegistry", outcome.data) == registry.refusal(garbage)


def test_the_factory_deploys_as_for_anyone(courier: Courier) -> None:
    init_code = bytes.fromhex("60015f5360015ff3")  # one byte of code
    with reverted_at_end(courier.node):
        call = delivery_calldata(FACTORY, 1_000_000, SALT + init_code)
        courier.node.send(courier.address, call)
        deployed = courier.node.rpc.ask("eth_getCode", create2_address(init_code), "latest")
    assert deployed == "0x01"


@pytest.mark.parametrize("times", [1, 5])
def test_the_courier_can_call_itself(courier: Courier, times: int) -> None:
    call, gas_limit = delivery_calldata(TARGET, 50_000, b""), 100_000
    for _ in range(times - 1):
        call, gas_limit = delivery_calldata(courier.address, gas_limit, call), gas_limit + 50_000
    outcome = courier.deliver(gas_limit, call, target=courier.address, code=LOGS_GAS)
    assert outcome.success
    assert outcome.logs == [(50_000 - 2).to_bytes(32)]


def test_a_target_may_call_the_courier(courier: Courier, calls_back: str) -> None:
    """Each call has its own gas, target and reason."""
    inner = delivery_calldata(TARGET, 50_000, b"")
    data = call_back(courier.address, inner)
    outcome = courier.deliver(100_000, data, target=calls_back, code=LOGS_GAS)
    assert outcome.logs == [(50_000 - 2).to_bytes(32)]
    data = call_back(courier.address, delivery_calldata(NO_CODE, 50_000, b""))
    assert courier.deliver(100_000, data, target=calls_back).error == "NoContract"
    data = call_back(courier.address, delivery_calldata(TARGET, 100_000, b""))
    outcome = courier.deliver(100_000, data, target=calls_back, code=LOGS_GAS)
    assert outcome.error == "GasTooLow"


def test_nothing_else_can_be_called(courier: Courier) -> None:
    call = delivery_calldata(TARGET, 1_000, b"")
    refused = [
        b"", b"\x01", selector("owner()"), selector("transfer(address,uint256)") + call[4:],
        call[:-33], call[:4] + b"\xff" + call[5:],
    ]  # fmt: skip
    outcomes = courier.simulate([Call(data) for data in refused], LOGS_GAS)
    outcomes += courier.simulate([Call(b"", value=1)], LOGS_GAS)
    assert {(outcome.success, outcome.data) for outcome in outcomes} == {(False, b"")}
    assert courier.node.rpc.ask("eth_getBalance", courier.address, "latest") == "0x0"


# Attacks. Each returns whether it succeeds.


def value_is_taken(courier: Courier) -> bool:
    call = Call(delivery_calldata(TARGET, 100_000, b""), value=1)
    return courier.simulate([call], LOGS_GAS)[0].success


def an_account_without_code(courier: Courier) -> bool:
    outcome = courier.deliver(100_000, target=NO_CODE)
    return outcome.error != "NoContract"


def a_precompile(courier: Courier) -> bool:
    return courier.deliver(100_000, target=IDENTITY).error != "NoContract"


def a_sender_who_gives_too_little_gas(courier: Courier) -> bool:
    return has_starved(courier.with_more_and_more_gas(1_000_000, LOGS_GAS), 1_000_000)


def a_sender_who_gives_too_little_gas_for_a_delegate(courier: Courier) -> bool:
    outcomes = courier.with_more_and_more_gas(5_000, *delegated(LOGS_GAS))
    return has_starved(outcomes, 5_000)


def delegated(code: str) -> tuple[str, dict[str, str]]:
    """The code of an account that is delegated to a contract with this code (EIP-7702)."""
    return f"ef0100{DELEGATE[2:]}", {DELEGATE: code}


def has_starved(outcomes: Sequence[Outcome], gas_limit: int) -> bool:
    """Whether a target was called with less than it should get."""
    gas = {int.from_bytes(log) for outcome in outcomes for log in outcome.logs}
    return gas != {gas_limit - 2}


def a_gas_limit_beyond_all_gas(courier: Courier) -> bool:
    limits = (GAS_LIMIT, 2**64, 2**256 - 5_000, 2**256 - 1)
    return {courier.deliver(limit, code=LOGS_GAS).error for limit in limits} != {"GasTooLow"}


def a_target_that_burns_all_its_gas(courier: Courier) -> bool:
    return is_expensive(courier.deliver(100_000, code=BURNS_ALL_GAS), 100_000)


def a_target_that_calls_the_courier_without_end(courier: Courier) -> bool:
    """And burns what is left."""
    call = delivery_calldata(TARGET, 30_000, b"")
    store = "".join(f"7f{word}60{32 * i:02x}52" for i, word in enumerate(words(call)))
    code = f"{store}5f5f60{len(call):02x}5f5f73{courier.address[2:]}5af1fe"
    return is_expensive(courier.deliver(2_000_000, code=code), 2_000_000)


def words(data: bytes) -> list[str]:
    return [data[i : i + 32].ljust(32, b"\0").hex() for i in range(0, len(data), 32)]


def a_reason_of_a_megabyte(courier: Courier) -> bool:
    outcome = courier.deliver(3_000_000, code=REVERTS_WITH_A_MEGABYTE)
    assert not outcome.success
    return len(outcome.data) > MAX_REASON or is_expensive(outcome, 2_100_000)


def an_answer_of_a_megabyte(courier: Courier) -> bool:
    outcome = courier.deliver(3_000_000, code=RETURNS_A_MEGABYTE)
    assert outcome.success
    return outcome.data != b"" or is_expensive(outcome, 2_100_000)


def is_expensive(outcome: Outcome, target_gas: int) -> bool:
    return outcome.gas_used > target_gas + MAX_OVERHEAD


def a_reason_that_is_changed(courier: Courier) -> bool:
    reasons = [bytes(range(1, 251)) * 20]
    reasons += [reasons[0][:length] for length in (0, 1, 4, 31, 32, 33, 500, 1_023, 1_024, 1_025)]
    for reason in reasons:
        outcome = courier.deliver(100_000, reason, code=REVERTS_WITH_CALLDATA)
        if outcome.success or outcome.data != reason[:MAX_REASON]:
            return True
    return False


ATTACKS: dict[str, Callable[[Courier], bool]] = {
    attack.__name__: attack
    for attack in (
        value_is_taken,
        an_account_without_code,
        a_precompile,
        a_sender_who_gives_too_little_gas,
        a_sender_who_gives_too_little_gas_for_a_delegate,
        a_gas_limit_beyond_all_gas,
        a_target_that_burns_all_its_gas,
        a_target_that_calls_the_courier_without_end,
        a_reason_of_a_megabyte,
        an_answer_of_a_megabyte,
        a_reason_that_is_changed,
    )
}


@pytest.mark.parametrize("name", ATTACKS)
def test_no_attack_succeeds(courier: Courier, name: str) -> None:
    assert not ATTACKS[name](courier)


# Not by switches: some replace more than an expression or a statement.
CHECKS = (
    Check("Courier", "deliver", "external {", "external payable {", "value_is_taken"),
    Check("Courier", "deliver", "if (target.code.length == 0) revert NoContract(target);", "",
          "an_account_without_code"),
    Check("Courier", "deliver", "if (target.code.length == 0) revert NoContract(target);", "",
          "a_precompile"),
    Check("Courier", "deliver", "revert GasTooLow(available, gasLimit);", "",
          "a_sender_who_gives_too_little_gas"),
    Check("Courier", "deliver", " - gasleft() / 64", "", "a_sender_who_gives_too_little_gas"),
    Check("Courier", "deliver", "available - gasLimit < RESERVE", "false",
          "a_sender_who_gives_too_little_gas"),
    Check("Courier", "deliver", "< RESERVE", "< 2_600",
          "a_sender_who_gives_too_little_gas_for_a_delegate"),
    Check("Courier", "deliver", "available < gasLimit || ", "", "a_gas_limit_beyond_all_gas"),
    Check("Courier", "deliver", "call(gasLimit,", "call(gas(),", "a_target_that_burns_all_its_gas"),
    Check("Courier", "deliver", "call(gasLimit,", "call(gas(),",
          "a_target_that_calls_the_courier_without_end"),
    Check("Courier", "deliver", "if gt(size, MAX_REASON) { size := MAX_REASON }", "",
          "a_reason_of_a_megabyte"),
    Check("Courier", "deliver", "revert(payload, size)\n            }",
          "revert(payload, size)\n            }\n"
          "            returndatacopy(payload, 0, returndatasize())", "an_answer_of_a_megabyte"),
    Check("Courier", "deliver", "revert(payload, size)", "revert(add(payload, 32), size)",
          "a_reason_that_is_changed"),
    Check("Courier", "deliver", "size := MAX_REASON", "size := 1023", "a_reason_that_is_changed"),
)  # fmt: skip


def test_every_check_is_attacked() -> None:
    assert {check.attack for check in CHECKS} == ATTACKS.keys()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: f"{check.text[:30]}, {check.attack}")
def test_without_a_check_its_attack_succeeds(shared_node: LocalNode, check: Check) -> None:
    changed = Courier(shared_node, shared_node.deploy(changed_builds()[CHECKS.index(check)]))
    assert ATTACKS[check.attack](changed)


def changed_builds() -> list[bytes]:
    """The contract without each of the checks."""
    source = (CONTRACTS / "Courier.sol").read_text()
    sources = {}
    for number, check in enumerate(CHECKS):
        assert source.count(check.text) == 1, check.text
        sources[f"{number}.sol"] = source.replace(check.text, check.replacement)
    selection = {"*": {"*": ["evm.bytecode.object"]}}
    output = compile_cached(sources, {**SETTINGS, "outputSelection": selection})["contracts"]
    builds = [output[file]["Courier"]["evm"]["bytecode"]["object"] for file in sources]
    return [bytes.fromhex(build) for build in builds]
