"""One tree of everything that can be wrong with a proof.

A class per kind of fault, so that a caller decides by class and a person reads the sentence,
which is written where the fault is found and names the values. Except for `ArgumentMalformed`,
which is our own mistake, and those of calls and bundles, each one says that a node answered
wrongly: another node may do better.
"""

# The classes are faults of proofs and are named as such: `NodeMissing` reads better where it is
# raised than `NodeMissingError`.
# ruff: noqa: N818


class ProofError(Exception):
    """What was shown does not prove what it should."""

    @classmethod
    def meaning(cls) -> str:
        """Names the kind of fault, without the node's own text."""
        return (cls.__doc__ or "").partition("\n")[0]


class ArgumentMalformed(ProofError):
    """A caller of ours asked for something that cannot exist, such as a key of 31 bytes."""


class AnswerMalformed(ProofError):
    """A node's JSON has not the shape of such an answer."""


class AnswerTooLarge(AnswerMalformed):
    """A node's answer is larger than any honest one."""


class RlpMalformed(ProofError):
    """The bytes are not one RLP item of the kind expected: truncated, trailing, wrong kind."""


class RlpNotCanonical(RlpMalformed):
    """The bytes can be read, but the same item has a shorter encoding."""


class NodeMalformed(ProofError):
    """The bytes are not a trie node, or not one of a trie with keys of 32 bytes."""


class NodeNotCanonical(NodeMalformed):
    """The bytes can be read as a node, but the trie would never have built it this way."""


class NodeMissing(ProofError):
    """The proof ends before the path does.

    A gap further up shows as a `NodeHashMismatch`: another node in its place looks the same.
    """


class NodeSurplus(ProofError):
    """The proof shows a node that is not on the path: behind its end, or between others."""


class NodeHashMismatch(ProofError):
    """A node is not the one its parent, or the root, refers to."""


class NodeOutOfOrder(NodeHashMismatch):
    """The node that is referred to is in the proof, but at another place."""


class ValueNotCanonical(ProofError):
    """A proven leaf holds bytes that are no canonical account or storage value."""


class HeaderMalformed(ProofError):
    """The bytes are not a block header of any fork."""


class HeaderFieldMissing(ProofError):
    """A header lacks a field: one its fork must have, or one that is asked for."""


class HeaderHashMismatch(ProofError):
    """A header's fields do not hash to the block hash."""


class AccountMismatch(ProofError):
    """A node states another account, or other values of it, than its own proof shows."""


class SlotMismatch(ProofError):
    """A node states other slots, or another value of one, than were asked for and proven."""


class WitnessMalformed(ProofError):
    """The bytes are not a witness: no walk through a trie reads them to the end."""


class CallMalformed(ProofError):
    """The bytes are not calldata that a registry takes, or leave out what it would fill in."""


class BundleRefused(ProofError):
    """A bundle is not one, or proves something else than it says; the sentence names the place."""


class BundleTooLarge(BundleRefused):
    """The file is larger than the caller allows, and was not read."""
