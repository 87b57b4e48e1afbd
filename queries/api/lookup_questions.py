"""The questions of FactsLookup, read from the calldata that a client passes on."""

import re
from enum import IntEnum
from typing import Any, NamedTuple

from eth_abi.abi import decode, encode
from eth_abi.exceptions import DecodingError

from accounts.http.errors import RefusalError
from queries.contracts.abi import selector
from queries.error_codes import LookupCode
from queries.proving import AccountField, HeaderField
from queries.selectors import block_selector
from queries.sources import Registry, Routes

QUESTION_TYPE = "(uint8,address,uint256,uint256,uint256)"
ARGUMENT_TYPES = ("uint256", "address", QUESTION_TYPE)  # chain, registry, question: seven words
SELECTOR = selector(f"lookUp({','.join(ARGUMENT_TYPES)})")
RECENT_SELECTOR = selector(f"lookUpRecent({','.join(ARGUMENT_TYPES)})")
DATA_PATTERN = rf"0[xX][0-9a-fA-F]{{{2 * (4 + 7 * 32)}}}"


class QuestionKind(IntEnum):
    """The kinds of questions, as in IFactsLookup."""

    ACCOUNT_FIELD = 1
    SLOT = 2
    HEADER_FIELD = 3
    LOG = 5


def balance_call(destination: int, registry: str, account: str, block: int) -> bytes:
    """The calldata that asks for an account's balance."""
    question = QuestionKind.ACCOUNT_FIELD, account, block, AccountField.BALANCE, 0
    return SELECTOR + encode(ARGUMENT_TYPES, [destination, registry, question])


def question_unknown(sentence: str) -> RefusalError:
    return RefusalError(LookupCode.QUESTION_UNKNOWN, sentence, path="data")


class Question(NamedTuple):
    """The `Question` struct of IFactsLookup, and whether `lookUpRecent` asks it."""

    kind: int
    account: str
    block: int
    key: int
    log: int
    is_recent: bool = False  # then `block` is the head of the destination at the caller's node

    def batch_request(self, registry: Registry) -> dict[str, Any]:
        """A request body for the fact. Raises `RefusalError` if there is no such fact."""
        number, block = self.block, self._requested_facts()
        if self.is_recent:
            number = 0  # chosen later
            fields = [*block.get("header", ()), HeaderField.TIMESTAMP.name]
            block["header"] = list(dict.fromkeys(fields))
        data = {str(registry.source): {block_selector(number): block}}
        return {"destinationChainId": str(registry.destination), "data": data}

    def _requested_facts(self) -> dict[str, Any]:
        try:
            match self.kind:
                case QuestionKind.ACCOUNT_FIELD:
                    props = [AccountField(self.key).name]
                    return {"accounts": {self.account: {"props": props}}}
                case QuestionKind.SLOT:
                    return {"accounts": {self.account: {"slots": [hex(self.key)]}}}
                case QuestionKind.HEADER_FIELD:
                    return {"header": [HeaderField(self.key).name]}
                case QuestionKind.LOG if not self.is_recent:
                    return {"logs": [{"transaction": self.key, "log": self.log}]}
                case QuestionKind.LOG:
                    raise question_unknown("A log can only be read at a block that you name.")
        except ValueError:
            is_account = self.kind == QuestionKind.ACCOUNT_FIELD
            fields = AccountField if is_account else HeaderField
            subject = "An account" if is_account else "A header"
            names = ", ".join(f"{field.value} {field.name}" for field in fields)
            raise question_unknown(f"{subject} has no field {self.key}; it has {names}.") from None
        raise question_unknown(f"There is no kind {self.kind} of fact; see IFactsLookup.")


def read_question(data: str, routes: Routes) -> tuple[Registry, Question]:
    """The registry that the call names, and its question."""
    error = question_unknown(
        f"The data is not a call of lookUp({','.join(ARGUMENT_TYPES)}), or of lookUpRecent with "
        "the same arguments."
    )
    if not re.fullmatch(DATA_PATTERN, data):
        raise error
    call = bytes.fromhex(data[2:])
    if call[:4] not in {SELECTOR, RECENT_SELECTOR}:
        raise error
    try:
        destination, address, question = decode(ARGUMENT_TYPES, call[4:])
    except DecodingError:
        raise error from None
    for registry in routes.registries.values():
        if registry.destination == destination and registry.address.lower() == address:
            is_recent = call[:4] == RECENT_SELECTOR
            return registry, Question(*question)._replace(is_recent=is_recent)
    raise RefusalError(
        LookupCode.REGISTRY_UNKNOWN,
        f"This server has no registry {address} on chain {destination}.",
    )
