"""Read a chain, and send transactions to it: what a prover asks of nodes.

Headers are checked by hash, and proofs and block contents against the header's roots. Heads, calls
and single receipts cannot be checked.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from itertools import accumulate, groupby, islice
from operator import itemgetter

from accounts.wording import format_timestamp
from queries.amounts import gwei
from queries.chain.answers import (
    AccountSlots,
    ChainHead,
    CheckedFinality,
    FoundLog,
    TransactionReceipt,
    check_hash,
    check_header,
    check_proof,
    decode_final_head,
    decode_head,
    read_base_fee,
    read_data_fee,
    read_gas_estimate,
    read_hex,
    read_int64,
    read_logs,
    read_number,
    read_receipt,
)
from queries.chain.errors import (
    AlreadyKnownError,
    BlockUnknownError,
    CallRevertedError,
    ChainRefusalError,
    FeesTooHighError,
    InvalidAnswersError,
    MethodMissingError,
    NodesRefuseError,
    ParametersRejectedError,
    StateNotAvailableError,
    TimeTooEarlyError,
    TransactionRefusedError,
)
from queries.chain.gas_rules import measure_gas_rules
from queries.chain.node_pool import GET_BLOCK, LATEST_BLOCK, NodePool
from queries.chain.signer import Fees
from queries.config.chains import Chain
from queries.contracts.abi import StateOverride, call_data
from queries.proving import (
    OSAKA,
    AccountField,
    AccountProof,
    CheckedNodes,
    GasRules,
    Header,
    encode_hex,
    keccak256,
)

# What nodes answer that estimate no deployment, or estimate wrongly
UNMEASURED_ERRORS = (ChainRefusalError, InvalidAnswersError, MethodMissingError, NodesRefuseError)
GAS_PRICE_ORACLE = "0x420000000000000000000000000000000000000F"  # of an OP-stack chain
TRANSACTION_OVERHEAD = 110  # bytes of an EIP-1559 transaction without its calldata

ContractCall = tuple[str, bytes]  # a contract, and calldata
FinalityReader = Callable[[Chain], CheckedFinality]
GasRulesReader = Callable[[NodePool], GasRules]


def no_finality(_: Chain) -> CheckedFinality:
    """For clients that need no final block."""
    return CheckedFinality()


class ChainClient(NodePool):
    """Client of a chain's nodes. Not thread-safe.

    `read_finality` returns what the light client of a chain with beacon nodes has shown to be
    final. Without it, nothing counts as final there. `read_gas_rules` returns what provers have
    measured; without it, each use measures the rules.
    """

    def __init__(
        self,
        chain: Chain,
        *,
        deadline: float = math.inf,
        read_finality: FinalityReader = no_finality,
        read_gas_rules: GasRulesReader = measure_gas_rules,
    ) -> None:
        super().__init__(chain, deadline=deadline)
        self._read_finality = read_finality
        self._read_gas_rules = read_gas_rules

    # Blocks and proofs

    def head(self, known_final: int | None = None) -> ChainHead:
        """Fetch the newest block and the number of the final one.

        `known_final`: do not ask for the final block, but use this number. Ignored if the chain has
        a fixed `finality` or beacon nodes: then the light client says what is final.
        """
        finality, final = self.chain.finality, known_final or 0
        head: ChainHead
        if self.chain.beacon:
            head = self.fetch(GET_BLOCK, LATEST_BLOCK, decode_head)
            return self._read_finality(self.chain).final_head(head, self.chain)
        if finality is None and known_final is None:
            try:
                head, final_head = self.fetch_many(
                    GET_BLOCK,
                    [LATEST_BLOCK, ("finalized", False)],
                    [decode_head, decode_final_head],
                )
            except (BlockUnknownError, ParametersRejectedError):
                # The node has finalized nothing yet, or does not know the tag.
                return self.latest_head()
            final = final_head.number
        else:
            head = self.fetch(GET_BLOCK, LATEST_BLOCK, decode_head)
        if finality is not None:
            final = head.number - finality
        # The final block may come from another node, which may be ahead.
        return replace(head, final_number=min(max(final, 0), head.number))

    def latest_head(self) -> ChainHead:
        """Fetch the newest block alone. The final number is 0 unless it is known without asking."""
        return self.head(known_final=0)

    def confirmed_block(self, head: int) -> int:
        """The newest block with enough confirmations, by the lower of this head and the node's."""
        depth = self.chain.depth
        if depth > 1:  # at depth 1, a node that has the block is deep enough
            head = min(head, self.latest_head().number)
        return max(head - depth + 1, 0)  # its own block is 1 deep

    def header(self, number: int) -> Header:
        (header,) = self._headers_by_number([number])
        return header

    def header_by_hash(self, block_hash: bytes) -> Header:
        params = (f"0x{block_hash.hex()}", False)
        check = partial(check_header, expected_hash=block_hash)
        return self.fetch("eth_getBlockByHash", params, check)

    def headers(self, first: int, last: int) -> list[Header]:
        """The headers of these numbers, each the parent of the next."""
        headers = self._headers_by_number(range(first, last + 1))
        # Down from the last: fetch headers of another fork again, by hash.
        for index in range(len(headers) - 2, -1, -1):
            expected_hash = headers[index + 1].parent_hash
            if headers[index].hash != expected_hash:
                headers[index] = self.header_by_hash(expected_hash)
        return headers

    def last_block_at(self, timestamp: int, head: ChainHead) -> tuple[Header, Header]:
        """The last block at or before `timestamp`, and its child. It must be before the head's."""
        headers = {head.number: self.header_by_hash(head.hash)}

        def read_timestamp(number: int) -> int:
            """Treat blocks that nodes have dropped (EIP-4444) as earlier than any time."""
            try:
                headers[number] = self.header(number)
            except (BlockUnknownError, StateNotAvailableError):  # nodes report either
                return -1
            return headers[number].timestamp

        child = headers[bisect_right(range(head.number), timestamp, key=read_timestamp)]
        time = format_timestamp(child.timestamp)
        if child.number == 0:
            raise TimeTooEarlyError(f"The earliest time that works is {child.timestamp} ({time}).")
        if child.number - 1 not in headers:
            raise BlockUnknownError(f"The nodes' earliest block is {child.number:,}, of {time}.")
        return headers[child.number - 1], child

    def account_proofs(
        self,
        header: Header,
        requested_slots: Sequence[AccountSlots],
        heartbeat: Callable[[], object] = lambda: None,
    ) -> list[AccountProof]:
        """The accounts' states at this block, proven under its state root.

        `heartbeat` is called before each request, because many slots take several.
        """
        # By hash, so that a node fails after a reorg instead of answering for another block.
        block = {"blockHash": f"0x{header.hash.hex()}"}
        try:
            return self._fetch_proofs(header, requested_slots, block, heartbeat)
        except ParametersRejectedError:  # older nodes take a number only
            return self._fetch_proofs(header, requested_slots, hex(header.number), heartbeat)

    def _fetch_proofs(
        self,
        header: Header,
        requested_slots: Sequence[AccountSlots],
        block: object,
        heartbeat: Callable[[], object],
    ) -> list[AccountProof]:
        limit = self.chain.limits.max_batch_calls
        parts = [
            (account, slots[start : start + limit])
            for account, slots in requested_slots
            for start in range(0, len(slots) or 1, limit)
        ]
        checked_nodes, proofs = CheckedNodes(), list[AccountProof]()
        for request in _group_requests(parts, limit):
            heartbeat()
            proofs += self.fetch_many(
                "eth_getProof",
                [
                    (f"0x{account.hex()}", [f"0x{slot:064x}" for slot in slots], block)
                    for account, slots in request
                ],
                [partial(check_proof, header.state_root, part, checked_nodes) for part in request],
            )
        remaining_proofs, joined_proofs = iter(proofs), list[AccountProof]()
        for _, requested in requested_slots:
            first, *others = islice(remaining_proofs, len(requested[::limit]) or 1)
            slots = [slot for proof in (first, *others) for slot in proof.slots]
            joined_proofs.append(replace(first, slots=tuple(slots)))
        return joined_proofs

    def call_contracts(
        self, calls: Sequence[ContractCall], block: object = "latest", gas: int | None = None
    ) -> list[bytes | CallRevertedError]:
        """The answers of `eth_call` at this block, or reverts."""
        gas_params = {} if gas is None else {"gas": hex(gas)}
        params_list = [
            ({"to": to, "data": f"0x{data.hex()}", **gas_params}, block) for to, data in calls
        ]
        return self.fetch_many("eth_call", params_list, read_hex, (CallRevertedError,))

    def logs(
        self, addresses: Collection[str], topics: Sequence[Collection[bytes]], first: int, last: int
    ) -> tuple[FoundLog, ...]:
        """The logs of these blocks, of any of these addresses in lower case, that begin with one of
        the topics of each position.
        """
        log_filter = {
            "address": sorted(addresses),
            "topics": [sorted(map(encode_hex, choices)) for choices in topics],
            "fromBlock": hex(first),
            "toBlock": hex(last),
        }
        check = partial(read_logs, addresses, topics, range(first, last + 1))
        return self.fetch("eth_getLogs", (log_filter,), check)

    def numbers(self, facts: Sequence[tuple[str, str, int]]) -> list[int]:
        """What a node says without a proof: the value of each account, BALANCE, NONCE or slot, and
        block.
        """
        values: dict[tuple[str, str, int], int] = {}
        requests = {fact: _number_request(*fact) for fact in facts}
        for method in sorted({method for method, _ in requests.values()}):
            asked = {fact: params for fact, (name, params) in requests.items() if name == method}
            answers = self.fetch_many(method, list(asked.values()), read_number)
            values |= zip(asked, answers, strict=True)
        return [values[fact] for fact in facts]

    def _headers_by_number(self, numbers: Sequence[int]) -> list[Header]:
        return self.fetch_many(
            GET_BLOCK,
            [(hex(number), False) for number in numbers],
            [partial(check_header, expected_number=number) for number in numbers],
        )

    # Contracts and accounts

    def call_contract(
        self, to: str, calls: Sequence[bytes], block: int | None = None
    ) -> list[bytes | CallRevertedError]:
        """The contract's answer to each call, at this block or the newest one."""
        tag = "latest" if block is None else hex(block)
        return self.call_contracts([(to, call) for call in calls], tag)

    def code(self, address: str) -> bytes:
        """The contract's code; empty if there is no contract."""
        return self.fetch("eth_getCode", (address, "latest"), read_hex)

    def created_code(self, init_code: bytes) -> bytes:
        """The code of the contract that a transaction with this init code would create."""
        return self.fetch("eth_call", ({"data": encode_hex(init_code)}, "latest"), read_hex)

    def balance(self, address: str) -> int:
        """The balance in wei."""
        return self.fetch("eth_getBalance", (address, "latest"), read_number)

    def nonce(self, sender: str) -> int:
        """The number of mined transactions of the sender."""
        return self.fetch("eth_getTransactionCount", (sender, "latest"), read_int64)

    def pending_count(self, sender: str) -> int:
        """The number of unmined transactions of the sender that a node holds."""
        total = self.fetch("eth_getTransactionCount", (sender, "pending"), read_int64)
        return max(total - self.nonce(sender), 0)

    # Costs

    @property
    def gas_rules(self) -> GasRules:
        """What the chain charges now, with the routes file's settings. Osaka's rules if its nodes
        do not show them.
        """
        chain, measured = self.chain, OSAKA
        if not (chain.new_slot_gas and chain.floor_byte_gas):
            with suppress(*UNMEASURED_ERRORS):
                measured = self._read_gas_rules(self)
        return chain.gas_rules(measured)

    def estimate_gas(self, sender: str, to: str, data: bytes) -> int:
        """The estimated gas of this transaction."""
        call = {"from": sender, "to": to, "data": encode_hex(data)}
        return self.fetch("eth_estimateGas", (call,), partial(read_gas_estimate, data))

    def estimate_gas_for_calls(
        self, sender: str, calls: Sequence[ContractCall], override: StateOverride | None = None
    ) -> list[int | CallRevertedError | TransactionRefusedError]:
        """The estimated gas of each call on its own, with this state override."""
        options = () if override is None else ("latest", override)
        params_list = [
            ({"from": sender, "to": to, "data": encode_hex(data)}, *options) for to, data in calls
        ]
        checks = [partial(read_gas_estimate, data) for _, data in calls]
        returned_errors = CallRevertedError, TransactionRefusedError
        return self.fetch_many("eth_estimateGas", params_list, checks, returned_errors)

    def gas_limit(self, needed_gas: int) -> int:
        """The gas with a reserve, because the state may change before the transaction is mined.

        The cap limits the reserve, unless the need is above it: then the chain has another cap.
        """
        cap, limit = self.chain.gas_cap, int(needed_gas * (1 + self.chain.limits.gas_reserve))
        return min(limit, cap) if needed_gas <= cap else limit

    def fees(self, head: ChainHead | None = None) -> Fees:
        """Fees for the block after `head`, or after the newest one. The fee cap allows the base fee
        to double, up to `max_gas_price`. Raises `FeesTooHighError` if the base fee exceeds that.
        """
        base, limit = (head or self.latest_head()).base_fee, self.chain.max_gas_price
        if base > limit:
            raise FeesTooHighError(
                f"Gas on {self.chain.name} costs {gwei(base)}; this server pays at most "
                f"{gwei(limit)}."
            )
        tip = self._tip()
        max_fee = min(2 * max(base, 1) + tip, limit)
        return Fees(max_fee, min(tip, max_fee), min(_next_base_fee(base) + tip, max_fee))

    def gas_price_after_block(self, block: int) -> int:
        """A gas price that the next block accepts, whatever its base fee."""
        base = self.fetch(GET_BLOCK, (hex(block), False), read_base_fee)
        return _next_base_fee(base) + self._tip()

    def data_fees(self, payloads: Sequence[bytes]) -> list[int]:
        """The L1 data fee of each call on an OP-stack chain now, in wei; 0 on other chains."""
        if not self._has_data_fees:
            return [0] * len(payloads)
        calls = [
            call_data("getL1Fee(bytes)", data + bytes(TRANSACTION_OVERHEAD)) for data in payloads
        ]
        fees = self.fetch_many(
            "eth_call",
            [({"to": GAS_PRICE_ORACLE, "data": encode_hex(call)}, "latest") for call in calls],
            read_data_fee,
            (CallRevertedError,),
        )
        return [0 if isinstance(fee, CallRevertedError) else fee for fee in fees]

    @cached_property
    def _has_data_fees(self) -> bool:
        return bool(self.code(GAS_PRICE_ORACLE))

    def _tip(self) -> int:
        return self.fetch("eth_maxPriorityFeePerGas", (), read_number)

    # Sending

    def send(self, raw: bytes) -> None:
        """Send a signed transaction. Succeeds as well if a node has it already."""
        check = partial(check_hash, keccak256(raw))
        with suppress(AlreadyKnownError):
            self.fetch("eth_sendRawTransaction", (encode_hex(raw),), check)

    def broadcast(self, raw: bytes) -> None:
        """Send it to every node and ignore the answers."""
        self.ask_all("eth_sendRawTransaction", (encode_hex(raw),))

    def receipt(self, transaction_hash: str) -> TransactionReceipt | None:
        """The transaction's receipt, or None if the node has none."""
        check = partial(read_receipt, transaction_hash)
        return self.fetch("eth_getTransactionReceipt", (transaction_hash,), check)


def _next_base_fee(base: int) -> int:
    """The highest base fee that the next block can have (EIP-1559)."""
    return base + -(-base // 8)


def _group_requests(
    slots_by_account: Sequence[AccountSlots], limit: int
) -> list[list[AccountSlots]]:
    """Group into requests of about `limit` proofs: one for the account and one for each slot."""
    totals = accumulate((1 + len(slots) for _, slots in slots_by_account), initial=0)
    numbered_requests = zip((total // limit for total in totals), slots_by_account, strict=False)
    return [[entry for _, entry in group] for _, group in groupby(numbered_requests, itemgetter(0))]


def _number_request(account: str, name: str, block: int) -> tuple[str, tuple[str, ...]]:
    """The method and the parameters that read a balance, a nonce or a slot."""
    if name == AccountField.BALANCE.name:
        return "eth_getBalance", (account, hex(block))
    if name == AccountField.NONCE.name:
        return "eth_getTransactionCount", (account, hex(block))
    return "eth_getStorageAt", (account, f"0x{int(name, 16):064x}", hex(block))
