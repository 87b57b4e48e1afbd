"""What reading costs a contract: calls of what was proven before, measured as transactions.

Only their execution gas says something: nobody reads in a transaction of its own.
"""

from collections.abc import Iterator, Sequence

from queries.chain.gas.cases import (
    ALL_FIELDS,
    Case,
    accumulated_call,
    registry_for,
    with_slots,
)
from queries.chain.gas.chains import RegistryKind, block_words
from queries.chain.gas.corpus import RecordedAccount, RecordedFile
from queries.chain.gas.facts import account_facts, registry_address
from queries.chain.registry_reads import call_data
from queries.proving.header_fields import HeaderField
from queries.proving.headers import Header
from queries.proving.registry_calls import HeaderStep, headers_section, prove_call
from queries.proving.witnesses import AccountField, AccountRequest


def read_cases(files: Sequence[RecordedFile]) -> Iterator[tuple[RecordedFile, Case]]:
    """Reads of one account with a slot, where the files have one, and of one header."""
    accounts = [(file, account) for file in files for account in file.accounts]
    if accounts:
        file, account = min(accounts, key=_preference)
        for case in _account_reads(file, account):
            yield file, case
    headers = [(file, file.block.header) for file in files if file.block.header is not None]
    for file, header in headers[:1]:
        yield file, _header_read(header)


def _preference(choice: tuple[RecordedFile, RecordedAccount]) -> tuple[bool, bool]:
    file, account = choice
    return not account.proof.slots, file.block.header is None


def _account_reads(file: RecordedFile, account: RecordedAccount) -> Iterator[Case]:
    words = block_words(file.block)
    shown = with_slots(account.proof, account.proof.slots[:1])
    address = registry_address(shown)
    before = (accumulated_call(words, [AccountRequest(shown, ALL_FIELDS)]),)
    facts = account_facts(shown, ALL_FIELDS, words.number)

    def case(name: str, signature: str, *arguments: object) -> Case:
        return Case(
            f"reads/{name}",
            registry_for(file, [account]),
            {"": (call_data(signature, *arguments),)},
            facts,
            accumulated=True,
            before=before,
            stores=False,
        )

    for function in ("accountField", "tryAccountField"):
        for field in AccountField:
            signature = f"{function}(address,uint256,uint8)"
            name = f"{function}({field.name})"
            yield case(name, signature, address, words.number, field)
    for slot in shown.slots:
        key = slot.slot.to_bytes(32, "big")
        for function in ("accountStorageSlotValues", "tryAccountStorageSlotValues"):
            signature = f"{function}(address,uint256,bytes32)"
            yield case(function, signature, address, words.number, key)
    signature = "tryAccountField(address,uint256,uint8)"
    unproven = words.number + 1
    yield case("tryAccountField(unproven)", signature, address, unproven, AccountField.BALANCE)


def _header_read(header: Header) -> Case:
    field = HeaderField.STATE_ROOT
    step = HeaderStep(header, fields=frozenset({field}))
    call = call_data("headerField(uint256,uint8)", header.number, field)
    return Case(
        "reads/headerField",
        RegistryKind.NATIVE,
        {"": (call,)},
        (),
        before=(prove_call([headers_section([step])]),),
        stores=False,
    )
