"""What can be wrong with a proof: a class per kind of fault.

A sentence names the values; `summary` repeats nothing of a node's answer, so logs and users may see
it. Except errors of arguments, calls and bundles, each means that a node answered wrongly.
"""


class ProofError(Exception):
    """What was given does not prove what it should."""

    summary: str


class ArgumentMalformedError(ProofError):
    """A caller passed a value that cannot exist, such as a key of 31 bytes."""

    summary = "Our own request is malformed."


class AnswerMalformedError(ProofError):
    summary = "A node's JSON does not have the shape of such an answer."


class AnswerTooLargeError(AnswerMalformedError):
    summary = "A node's answer is larger than any honest one."


class RlpMalformedError(ProofError):
    summary = "The bytes are not an RLP item of the expected kind: truncated, too long, or another."


class RlpNotCanonicalError(RlpMalformedError):
    summary = "The bytes can be read, but the same item has a shorter encoding."


class NodeMalformedError(ProofError):
    summary = "The bytes are not a node of a trie with keys of 32 bytes."


class NodeNotCanonicalError(NodeMalformedError):
    summary = "The bytes can be read as a node, but no trie encodes a node like this."


class NodeMissingError(ProofError):
    """The proof ends too early. A gap before its end is a `NodeHashMismatchError`."""

    summary = "The proof ends before the path does."


class NodeSurplusError(ProofError):
    summary = "The proof has a node that is not on the path."


class NodeHashMismatchError(ProofError):
    summary = "A node's hash is not the one in its parent, or the root."


class RootMismatchError(ProofError):
    summary = "The list is not the one to which the block's header commits."


class TransactionTypeUnknownError(ProofError):
    def __init__(self, kind: int) -> None:
        self.summary = f"The block has a transaction of type {kind:#x}, which is not supported."
        super().__init__(self.summary)


class ValueNotCanonicalError(ProofError):
    summary = "A proven leaf is not a canonical account or storage value."


class HeaderMalformedError(ProofError):
    summary = "The bytes are not a block header of any fork."


class HeaderFieldMissingError(ProofError):
    summary = "A header lacks a field that its fork must have, or that was requested."


class HeaderHashMismatchError(ProofError):
    summary = "A header's fields do not hash to the block hash."


class AccountMismatchError(ProofError):
    summary = "A node states another account, or other values, than its own proof."


class SlotMismatchError(ProofError):
    summary = "A node states other slots, or other values, than were requested and proven."


class WitnessMalformedError(ProofError):
    summary = "The bytes are not a witness: no walk through a trie reads them to the end."


class NotAbsentError(ProofError):
    summary = "A log, emitter or topic that is said to be absent is there, or may be."


class CallMalformedError(ProofError):
    summary = "The bytes are not calldata that a registry accepts."


class BundleRefusedError(ProofError):
    """The file is not a valid bundle; the sentence names the place."""

    summary = "The file is not a proof, or proves something else than it says."


class BundleTooLargeError(BundleRefusedError):
    """The file is larger than the caller allows, and was not read."""

    summary = "The file is larger than allowed."
