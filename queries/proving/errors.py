"""Errors of proofs, a class for each kind.

The message quotes values of a node's response. `summary` does not, so logs and users may see it.
Except errors of arguments, calls, bundles and requested facts, each means that a node's response is
wrong.
"""


class ProofError(Exception):
    """The input does not prove what it should."""

    summary: str


class ArgumentMalformedError(ProofError):
    """A caller passed a value that cannot exist, such as a key of 31 bytes."""

    summary = "Our own request is malformed."


class AnswerMalformedError(ProofError):
    summary = "A node's JSON does not have the format of such a response."


class AnswerTooLargeError(AnswerMalformedError):
    summary = "A node's response is larger than any valid one."


class RlpMalformedError(ProofError):
    summary = "The bytes are not an RLP item of the expected kind, or are truncated or too long."


class RlpNotCanonicalError(RlpMalformedError):
    summary = "The bytes are not the canonical RLP of the item."


class TrieNodeMalformedError(ProofError):
    summary = "The bytes are not a node of a trie with keys of 32 bytes."


class TrieNodeNotCanonicalError(TrieNodeMalformedError):
    summary = "The bytes are not the canonical encoding of a trie node."


class TrieNodeMissingError(ProofError):
    """The proof ends too early. A gap before its end is a `TrieNodeHashMismatchError`."""

    summary = "The proof lacks trie nodes at the end of the path."


class TrieNodeSurplusError(ProofError):
    summary = "The proof has a trie node that is not on the path."


class TrieNodeHashMismatchError(ProofError):
    summary = "The hash of a trie node is not the one in its parent, or the trie's root."


class RootMismatchError(ProofError):
    summary = "The list does not match the root in the block's header."


class ValueNotCanonicalError(ProofError):
    summary = "A proven leaf is not a canonical account or storage value."


class HeaderMalformedError(ProofError):
    summary = "The bytes are not a block header of any fork."


class HeaderFieldMissingError(ProofError):
    summary = "A header lacks a field that its fork must have, or that was requested."


class HeaderHashMismatchError(ProofError):
    summary = "A header's fields do not hash to the block hash."


class AccountMismatchError(ProofError):
    summary = "A node's response states another account or other values than its proof."


class SlotMismatchError(ProofError):
    summary = "A node's response states other slots than requested, or other values than its proof."


class WitnessMalformedError(ProofError):
    summary = "The bytes are not a valid witness."


class NotAbsentError(ProofError):
    summary = "An item that is stated as absent is present, or may be."


class BloomUndecidedError(NotAbsentError):
    summary = "The block's bloom cannot show that no log has this address or topic."


class ItemMissingError(ProofError):
    summary = "The block has no such log, receipt, transaction or withdrawal."


class ItemNotProvableError(ProofError):
    summary = "The transaction's type is not known."


class BundleRefusedError(ProofError):
    """The file is not a valid bundle; the sentence names the place."""

    summary = "The file is not a valid proof of the facts that it lists."


class BundleTooLargeError(BundleRefusedError):
    """The file is larger than the caller allows, and was not read."""

    summary = "The file is larger than allowed."
