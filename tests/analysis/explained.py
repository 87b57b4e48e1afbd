"""What Slither, a static analyser, finds in the contracts, and why none of it is a fault.

`make analyse` runs it over queries/contracts and compares. Slither analyses contracts, not free
functions: `Calldata`, `Memory`, `Rlp` and `TrieNodes` rest on the tests.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Explained:
    """One detector's findings that have one reason."""

    detector: str
    impact: str
    places: tuple[str, ...]
    why: str


EXPLAINED = (
    Explained(
        "uninitialized-local",
        "Medium",
        (
            "AttestedRegistry.constructor.last",
            "AttestedRegistry.attest.last",
        ),
        "It begins as zero, and that is meant: the first signer must come after the zero address, "
        "which is nobody's.",
    ),
    Explained(
        "uninitialized-local",
        "Medium",
        (
            "ProofReader._readWitness.walk",
            "ProofReader._readStorage.walk",
            "FactsRegistry.endedBy.hop",
            "FactsRegistry.verify.hop",
        ),
        "A struct in memory begins as zeros. Those members that are to be others are set in the "
        "lines below, before the walk begins.",
    ),
    Explained(
        "uninitialized-local",
        "Medium",
        ("FactStore._storeAccount.written",),
        "It begins as false: nothing is written yet.",
    ),
    Explained(
        "incorrect-exp",
        "High",
        ("ProofReader._checkContradiction",),
        "An exclusive or is meant: of the offsets 0 and 32 it gives the other one.",
    ),
    Explained(
        "cyclomatic-complexity",
        "Informational",
        ("FactStore._storeAccount",),
        "An account's fields are stored in two ways each, and each way is one condition.",
    ),
    Explained(
        "calls-loop",
        "Low",
        ("FactsRegistry.multicall",),
        "Calls that are all made or none: that one stops the others is what it is for. Who makes "
        "them pays for them, and keeps nobody else from anything.",
    ),
    Explained(
        "calls-loop",
        "Low",
        ("OptimismRegistry._knownHash",),
        "A question to a contract of the chain itself, once for a section or header of a proof. It "
        "changes nothing, whoever asks pays for it, and if it fails the proof is refused.",
    ),
    Explained(
        "calls-loop",
        "Low",
        ("FactsRouter.constructor",),
        "The deployer names the registries and pays for the calls. A registry that reverts does "
        "not name its source.",
    ),
    Explained(
        "low-level-calls",
        "Informational",
        ("FactsRouter.constructor",),
        "Native and optimism registries do not have the function, which a typed call would not "
        "survive.",
    ),
    Explained(
        "low-level-calls",
        "Informational",
        ("FactsRegistry.multicall",),
        "A call of this contract's own functions, by whoever calls it: whether it succeeded is "
        "looked at, and what it failed with is passed on.",
    ),
    Explained(
        "assembly",
        "Informational",
        ("NativeRegistry._ask",),
        "The system contracts take a bare word and have no functions. Whether the call succeeded "
        "and answered one word is checked; a hash of zero is never known.",
    ),
    Explained(
        "assembly",
        "Informational",
        (
            "CompactHeader._fieldWord",
            "CompactHeader._insertBeaconRoot",
            "CompactHeader._integer",
            "CompactHeader._item",
            "CompactHeader._seal",
            "FactStore._key",
            "FactsRegistry._bounds",
            "FactsRegistry.multicall",
            "ProofReader._accountTrieKey",
            "ProofReader._slotTrieKey",
            "ProvenFacts._returnFacts",
            "TrieWitness._key",
            "TrieWitness._other",
            "TrieWitness._root",
        ),
        "Headers and nodes are put together and hashed in memory, which Solidity has no words for. "
        "Each block is a few instructions; random tries compare all of it with the trie package "
        "and with our own reader.",
    ),
    Explained(
        "assembly",
        "Informational",
        (
            "SignatureCheck.constructor",
            "SignatureCheck._ask",
            "SignatureCheck._make",
            "SignatureCheck._part",
            "SignatureCheck._word",
        ),
        "It answers a single byte from a constructor, and reads signatures of strangers so that "
        "malformed ones are refused and cost little. It runs within an eth_call and is never "
        "deployed.",
    ),
    Explained(
        "pragma",
        "Informational",
        ("",),
        "What others import, in interfaces/, takes any compiler from 0.8.4 on; what is deployed "
        "takes one.",
    ),
    Explained(
        "solc-version",
        "Informational",
        ("",),
        "As above: those who import it choose the compiler.",
    ),
    Explained(
        "naming-convention",
        "Informational",
        ("CompactHeader.HORIZON", "IFactsRegistry.HORIZON"),
        "It never changes, and reads like a constant.",
    ),
    Explained(
        "timestamp",
        "Low",
        ("AttestedRegistry.attest",),
        "When attesting ends is a date years ahead; a few seconds that a block's producer could "
        "shift change nothing.",
    ),
    Explained(
        "timestamp",
        "Low",
        ("DisputeGamesStandIn.isGameClaimValid", "DisputeGamesStandIn.isGameRetired"),
        "As in the rollup's own contracts. The stand-in is for tests and the demo.",
    ),
    Explained(
        "constable-states",
        "Optimization",
        ("DemoToken.name", "DemoToken.symbol"),
        "The demo's token, which nobody deploys elsewhere; as storage its slots are where those of "
        "most tokens are.",
    ),
    Explained(
        "immutable-states",
        "Optimization",
        ("DemoToken.totalSupply",),
        "As above: the demo proves a token by its storage.",
    ),
    Explained(
        "costly-loop",
        "Informational",
        ("DemoToken.constructor",),
        "As above; it runs once, for a few holders.",
    ),
)  # fmt: skip
