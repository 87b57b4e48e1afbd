"""Slither's findings in the contracts, and why none of them is a fault.

`make analyse` compares. Slither analyses contracts, not free functions: `Bloom`, `Calldata`,
`Memory`, `Rlp` and `TrieNodes` rely on the tests.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Explained:
    """A detector's findings with the same explanation."""

    detector: str
    impact: str
    places: tuple[str, ...]
    why: str


EXPLAINED = (
    Explained("uninitialized-local", "Medium", (
        "AttestedRegistry.constructor.last", "AttestedRegistry.attest.last"),
        "Starting at zero is intended: the first signer must be above the zero address."),
    Explained("uninitialized-local", "Medium", (
        "ProofReader._readWitness.walk", "ProofReader._readStorage.walk",
        "RollupStandIn._make.assertion"),
        "A struct in memory starts as zeros. Other members are set below, before the walk."),
    Explained("uninitialized-local", "Medium", ("FactStore._storeAccount.written",),
        "It starts as false: nothing is written yet."),
    Explained("incorrect-exp", "High", ("ProofReader._checkContradiction",),
        "Exclusive or is intended: it turns the offset 0 into 32 and 32 into 0."),
    Explained("cyclomatic-complexity", "Informational", ("FactStore._storeAccount",),
        "Every field of an account is stored in one of two ways, and each way is a condition."),
    Explained("calls-loop", "Low", ("FactsRegistry.multicall",),
        "All calls succeed or none, which is its purpose. The caller pays for them."),
    Explained("calls-loop", "Low", (
        "OptimismRegistry._knownHash", "ArbitrumRegistry._isKnown"),
        "A static call to a contract of the chain or the rollup for a section or header of a "
        "proof. The caller pays, and if it fails the proof is refused."),
    Explained("calls-loop", "Low", ("FactsRouter.constructor", "EventsRouter.constructor"),
        "The deployer chooses the registries and pays for the calls. A registry that reverts "
        "has no source."),
    Explained("low-level-calls", "Informational", (
        "FactsRouter.constructor", "EventsRouter.constructor"),
        "Native and optimism registries do not have the function, so a typed call would revert."),
    Explained("low-level-calls", "Informational", ("OutputRegistry._needsSuperRoot",),
        "Older portals do not have the function, so a typed call would revert."),
    Explained("low-level-calls", "Informational", ("FactsRegistry.multicall",),
        "A call of this contract's own functions. Its success is checked, and its error passed "
        "on."),
    Explained("assembly", "Informational", ("BeaconRegistry._tryPrecompiles",),
        "The position of an array of zeros in memory, for the precompiles."),
    Explained("timestamp", "Low", ("BeaconRegistry.update",),
        "A slot has begun or not, and seven days have passed or not: seconds do not matter."),
    Explained("assembly", "Informational", ("NativeRegistry._ask",),
        "The system contracts take a bare word. Success and the length of one word are checked;"
        " a hash of zero is never known."),
    Explained("assembly", "Informational", (
        "CompactHeader._fieldWord", "CompactHeader._insertBeaconRoot", "CompactHeader._integer",
        "CompactHeader._item", "CompactHeader._seal", "FactStore._key", "FactsRegistry._bounds",
        "FactsRegistry.multicall", "ProofReader._accountTrieKey", "ProofReader._slotTrieKey",
        "ProvenFacts._returnFacts", "TrieWitness._key", "TrieWitness._other", "TrieWitness._root"),
        "Headers and nodes are assembled and hashed in memory, which Solidity cannot express. "
        "Each block is a few instructions, which random tries compare with the trie package."),
    Explained("assembly", "Informational", (
        "SignatureCheck.constructor", "SignatureCheck._ask", "SignatureCheck._make",
        "SignatureCheck._part", "SignatureCheck._word"),
        "A constructor that returns a byte, and a parser that refuses malformed signatures "
        "cheaply. It runs in an eth_call and is never deployed."),
    Explained("assembly", "Informational", (
        "BlockItems._allFacts", "BlockItems._bytes", "BlockItems._itemLength",
        "BlockItems._keepAbsent",
        "BlockItems._keepLogs", "BlockItems._makeLists", "BlockItems._putLog",
        "BlockItems._readAbsentLogs", "BlockItems._readReceipt", "BlockItems._readTransaction",
        "BlockItems._readWithdrawal", "BlockItems._words", "EventsVerifier._read",
        "EventsVerifier._readBloom", "EventsVerifier._statedFields", "EventsVerifier.isLog",
        "IndexTrie._copyValue", "IndexTrie._root"),
        "Items and nodes are assembled and hashed in memory, which Solidity cannot express, and "
        "facts are put into lists by their position there. Recorded blocks are read back."),
    Explained("assembly", "Informational", ("Courier.deliver",),
        "A call to an arbitrary address is its purpose. Solidity's own copies the whole answer."),
    Explained("calls-loop", "Low", ("EventsVerifier._read",),
        "A static call to the registry for each group of a witness. The caller pays."),
    Explained("divide-before-multiply", "Medium", ("IndexTrie._leafNode",),
        "Half of an odd number of nibbles is meant to be rounded down: whole bytes."),
    Explained("low-level-calls", "Informational", ("EventsVerifier._statedFields",),
        "Decoding the whole answer would cost more than the walk. Success is checked, and the "
        "registry's error passed on."),
    Explained("low-level-calls", "Informational", (
        "FactsLookup._ask", "FactsLookup.onRecentProof", "FactsLookupClient.ask"),
        "An error is wrapped, so that no lookup of another contract passes as ours."),
    Explained("uninitialized-local", "Medium", ("BlockItems._refuseMatch.parts",),
        "A struct in memory starts as zeros, and is filled before it is read."),
    Explained("pragma", "Informational", ("",),
        "Contracts that others import, in interfaces/, take any compiler from 0.8.4 on."),
    Explained("solc-version", "Informational", ("",),
        "As above: the importing project chooses the compiler."),
    Explained("naming-convention", "Informational", (
        "CompactHeader.HORIZON", "IFactsRegistry.HORIZON", "EventsVerifier.REGISTRY",
        "IEventsVerifier.REGISTRY", "FactsLookup.REGISTRY", "FactsLookup.VERIFIER",
        "IFactsLookup.REGISTRY", "IFactsLookup.VERIFIER"),
        "It is immutable, and read like a constant."),
    Explained("naming-convention", "Informational", (
        "DisputeGameStandIn.SLOW_FINALIZATION_DELAY",),
        "Base's games name it so."),
    Explained("assembly", "Informational", ("FactsLookupClient.ask",),
        "An error's selector is read and dropped, for which Solidity 0.8.4 has no expression."),
    Explained("timestamp", "Low", ("FactsLookup.onRecentProof",),
        "The age of a block is compared with the caller's bound, in an eth_call."),
    Explained("timestamp", "Low", ("AttestedRegistry.attest",),
        "Attesting ends years ahead; a block producer can shift that by a few seconds."),
    Explained("timestamp", "Low", (
        "DisputeGamesStandIn.isGameClaimValid", "DisputeGamesStandIn.isGameRetired"),
        "As in the rollup's own contracts. The stand-in is for tests and the demo."),
    Explained("constable-states", "Optimization", ("DemoToken.name", "DemoToken.symbol"),
        "The demo's token; as storage variables, its slots are those of most tokens."),
    Explained("immutable-states", "Optimization", ("DemoToken.totalSupply",),
        "As above: the demo proves the token's storage."),
    Explained("immutable-states", "Optimization", (
        "DisputeGamesStandIn.l2ChainId", "RollupStandIn.chainId"),
        "Tests put the stand-ins' code at the addresses of public networks, and set this slot."),
    Explained("missing-inheritance", "Informational", ("DisputeGamesStandIn",),
        "The interfaces name what a registry asks; the stand-in is several contracts in one."),
    Explained("costly-loop", "Informational", ("DemoToken.constructor",),
        "As above; it runs once, for a few holders."),
)  # fmt: skip
