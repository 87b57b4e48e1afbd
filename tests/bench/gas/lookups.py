"""What the callback of a FactsLookup costs beside the registry's `verify` of the same proof."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from eth_abi.abi import decode, encode

from explorer.demo.local_node import TransactionRevertedError
from queries.chain.offchain_lookup import ERROR_TYPES
from queries.contracts.abi import call_data, load_artifact
from queries.proving.accounts import AccountProof
from queries.proving.registry_calls import SectionHeader, headers_section
from queries.proving.witnesses import AccountField, AccountToStore, build_witness
from tests.bench.command import BenchError
from tests.bench.corpus import RecordedFile
from tests.bench.gas.chains import MeasuringChain, native_chain

BALANCE = AccountField.BALANCE
NO_VERIFIER = "0x" + 20 * "00"
MAX_GAS = 300_000  # of the eth_call


def lookup_lines(files: Sequence[RecordedFile]) -> Iterator[str]:
    """A row for the deepest account of each block with a header, and one for its first slot."""
    yield ""
    names = " ".join(f"{name:>9}" for name in ("verify", "callback", "ratio") * 2)
    yield f"{'FactsLookup: total, and execution alone':42} {names}"
    most = 0
    for file in files:
        named = [account.proof for account in file.accounts if account.proof.address]
        if file.block.header is None or not named:
            continue
        deepest = max(named, key=lambda proof: len(proof.path.nodes))
        with native_chain(file.block) as chain:
            for title, proof in _proofs(deepest):
                pairs = _measure(chain, proof)
                most = max(most, *pairs[0])
                cells = [f"{ours:9,} {gas:9,} {gas / ours:9.3f}" for ours, gas in pairs]
                yield f"  {f'{file.name}, {title}':40} {' '.join(cells)}"
    verdict = "met" if most < MAX_GAS else "not met"
    yield f"  The most of a callback is {most:,}, less than {MAX_GAS:,}: {verdict}"


def _proofs(proof: AccountProof) -> Iterator[tuple[str, AccountProof]]:
    yield "balance", replace(proof, slots=())
    if proof.slots:
        yield "slot", replace(proof, slots=proof.slots[:1])


def _measure(chain: MeasuringChain, proof: AccountProof) -> list[list[int]]:
    """The gas of `verify` and of the callback: of transactions, and of their execution alone."""
    if chain.block.header is None:
        raise BenchError("a lookup needs the block's header")
    fields = frozenset() if proof.slots else frozenset({BALANCE})
    witness = build_witness([AccountToStore(proof, fields)])
    section = headers_section([SectionHeader(chain.block.header, witness)])
    words = encode(["address", "address", "string[]"], [chain.registry, NO_VERIFIER, ["https://"]])
    lookup = chain.node.deploy(load_artifact("FactsLookup").bytecode, words)
    number = chain.block.header.number
    question = call_data("read(address,uint256,uint8,string[])", proof.address, number, BALANCE, [])
    if proof.slots:
        signature, slot = "readSlot(address,uint256,bytes32,string[])", proof.slots[0].slot
        question = call_data(signature, proof.address, number, slot.to_bytes(32), [])
    try:
        chain.node.call(lookup, question)
        raise BenchError("The lookup found the fact in a new registry.")
    except TransactionRevertedError as reverted:
        *_, callback, extra = decode(ERROR_TYPES, reverted.data[4:])
    answer = encode(["bytes", "bytes"], [section, b""])
    calls = {
        chain.registry: call_data("verify(bytes)", section),
        lookup: callback + encode(["bytes", "bytes"], [answer, extra]),
    }
    receipts = [chain.node.send(to, data) for to, data in calls.items()]
    traces = [chain.node.rpc.ask("trace_transaction", sent.transaction) for sent in receipts]
    executions = [int(trace[0]["result"]["gasUsed"], 16) for trace in traces]
    return [[receipt.gas_used for receipt in receipts], executions]
