"""A node in front of a local one that prices as the draft of Amsterdam does (EIP-8037, EIP-7976).

No local node has that fork. This one adds to gas estimates and receipts what state costs more, and
refuses transactions with too little gas. The prices are those that
`@ethereumjs/vm` charges, as `make gas` measures them.
"""

from typing import Any

from eth_account import Account

from queries.chain.signer import decode_transaction
from queries.contracts.create2 import courier_address
from queries.proving.json_values import encode_hex
from tests.rigs.anvil import Chain
from tests.rigs.faulty_node import Node, Question, refusal

OSAKA_SLOT, SLOT = 22_100, 110_020  # gas of a new slot
ACCOUNT, CODE_BYTE = 157_700, 1_330  # a new contract, and a byte of its code, on top of Osaka's
FLOOR_BYTE, FLOOR_ZERO_BYTE, BASE = 64, 16, 21_000
DIFF = {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True}}
State = dict[str, dict[str, Any]]


class AmsterdamNode(Node):
    """Prices by the rules of Osaka until `fork` is called, if `is_forked` is false."""

    def __init__(self, chain: Chain, *, is_forked: bool = True) -> None:
        super().__init__(chain)
        self.refused = 0  # transactions with too little gas
        if is_forked:
            self.fork()

    def fork(self) -> None:
        self.set_fault(self._answer_by_amsterdam)

    def gas_used(self, transaction: str) -> int:
        """The gas that a mined transaction used."""
        used = int(self.chain.receipt(transaction)["gasUsed"], 16)
        return used + _state_gas(self.chain.rpc("debug_traceTransaction", transaction, DIFF))

    def _answer_by_amsterdam(self, question: Question) -> dict[str, Any] | None:
        method, params = question["method"], question.get("params", [])
        if method == "eth_sendRawTransaction" and self._has_too_little_gas(params[0]):
            self.refused += 1
            return {"jsonrpc": "2.0", "id": question["id"], **refusal("intrinsic gas too low")}
        answer = self.forward(question)
        result: Any = answer.get("result")
        if method == "eth_estimateGas" and result:
            answer["result"] = hex(self._price(int(result, 16), *params))
        elif method == "eth_getTransactionReceipt" and result:
            more = _state_gas(self.chain.rpc("debug_traceTransaction", params[0], DIFF))
            for key in ("gasUsed", "cumulativeGasUsed"):
                result[key] = hex(int(result[key], 16) + more)
        return answer

    def _price(
        self, gas: int, call: dict[str, Any], block: object = "latest", state: object = None
    ) -> int:
        if call.get("to", "").lower() == courier_address().lower():
            return gas  # the estimate includes all gas that it passes on
        options = DIFF if state is None else {**DIFF, "stateOverrides": state}
        with_state = gas + _state_gas(self.chain.rpc("debug_traceCall", call, block, options))
        data = bytes.fromhex((call.get("data") or "0x")[2:])
        zeros = data.count(0)
        floor = BASE + FLOOR_ZERO_BYTE * zeros + FLOOR_BYTE * (len(data) - zeros)
        return max(with_state, floor)

    def _has_too_little_gas(self, raw: str) -> bool:
        sent = decode_transaction(bytes.fromhex(raw[2:]))
        call = {
            "from": Account.recover_transaction(raw),
            "to": sent.to,
            "data": encode_hex(sent.data),
        }
        question = {"jsonrpc": "2.0", "id": 1, "method": "eth_estimateGas", "params": [call]}
        estimate: Any = self.forward(question).get("result")
        return bool(estimate) and sent.gas_limit < self._price(int(estimate, 16), call)


def _state_gas(changes: dict[str, State]) -> int:
    """What the new slots, accounts and code cost more than on Osaka."""
    gas = 0
    for account in changes["post"].values():
        if code := account.get("code"):
            gas += ACCOUNT + CODE_BYTE * (len(code) // 2 - 1)
    return gas + (SLOT - OSAKA_SLOT) * count_new_slots(changes)


def count_new_slots(changes: dict[str, State]) -> int:
    """Count the storage slots that get their first word."""
    return sum(
        int(word, 16) > 0 and slot not in changes["pre"].get(address, {}).get("storage", {})
        for address, account in changes["post"].items()
        for slot, word in account.get("storage", {}).items()
    )
