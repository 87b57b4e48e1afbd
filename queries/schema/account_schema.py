"""The accounts of one block of a request: who they are, and what is asked of each.

An account may be spelled in several ways, and a JSON object keyed by spellings may therefore name
it twice. Both entries then count as one.
"""

import re
from dataclasses import dataclass, field

from accounts.errors import Refusal
from queries.errors import ACCOUNT_MALFORMED, NOTHING_ASKED, SLOT_MALFORMED, UNKNOWN_PROP
from queries.proving.witnesses import AccountField

from .addresses import Address, EnsName, is_ens_name
from .batch_request import AccountRequest
from .batch_rules import BatchRules, BatchSoFar
from .json_kinds import optional, read_list, read_object, read_text, refuse_unknown
from .places import Place
from .wording import listed, quoted

_ADDRESS = re.compile(r"0x([0-9a-fA-F]{40})")
_SLOT = re.compile(r"0x([0-9a-fA-F]{1,64})")
_SLOT_DIGITS = 64
_DECIMAL_SLOT = re.compile(r"[0-9]{1,77}")  # whatever has 77 digits is below 2^256
_HEX_DIGITS = re.compile(r"[0-9a-fA-F]+")
_FIELDS = ("props", "slots")


@dataclass(slots=True)
class _Asked:
    """What the entries of one account ask for, each once and in order."""

    props: dict[AccountField, None] = field(default_factory=dict)
    slots: dict[bytes, None] = field(default_factory=dict)


def read_accounts(
    value: object, place: Place, source: int, so_far: BatchSoFar
) -> tuple[AccountRequest, ...]:
    """Read a block's `accounts`, in the order in which each is first named."""
    accounts: dict[Address | EnsName, _Asked] = {}
    named_again: dict[Address | EnsName, Place] = {}
    for key, entry in read_object(value, place).items():
        here = place.inside(key)
        account = _read_account_key(key, here, source, so_far.rules)
        if account in accounts:
            named_again[account] = here
        else:
            so_far.count_account(here)
            _warn_of_capitals(account, key, here, so_far)
            accounts[account] = _Asked()
        _read_entry(entry, here, accounts[account], so_far)
    for account, here in named_again.items():
        so_far.warn(
            f"{_well_spelled(account)} is named more than once in this block, in other letters. "
            "All that is asked of it is taken together.",
            here,
        )
    return tuple(
        AccountRequest(account, tuple(asked.props), tuple(asked.slots))
        for account, asked in accounts.items()
    )


def _read_account_key(key: str, place: Place, source: int, rules: BatchRules) -> Address | EnsName:
    if "." in key:
        return _read_name(key, place, source, rules)
    match = _ADDRESS.fullmatch(key)
    if not match:
        raise _account_malformed(key, place, _what_an_address_is(key))
    return Address(bytes.fromhex(match[1]))


def _warn_of_capitals(
    account: Address | EnsName, key: str, place: Place, so_far: BatchSoFar
) -> None:
    """Letters of one case check nothing; letters of both that do not fit hint at a wrong digit."""
    digits = key.removeprefix("0x")
    if digits not in (digits.lower(), digits.upper()) and key != _well_spelled(account):
        so_far.warn(
            f"{key} is taken, but its capitals do not fit its digits, so one may be wrong. "
            f"This address is spelled {_well_spelled(account)}.",
            place,
        )


def _well_spelled(account: Address | EnsName) -> str:
    return account.checksummed if isinstance(account, Address) else account.name


def _read_name(key: str, place: Place, source: int, rules: BatchRules) -> EnsName:
    if source not in rules.ens_chains:
        why = f"no names are looked up on chain {source} here. Give the address"
        raise _account_malformed(key, place, why)
    if not is_ens_name(key):
        why = (
            "a name is taken in its normal form of a-z, 0-9 and hyphens (none of them double after "
            "two characters), with 1 to 63 characters between dots and 255 in all. "
            "For any other name give the address"
        )
        raise _account_malformed(key, place, why)
    return EnsName(key)


def _what_an_address_is(key: str) -> str:
    digits = key.removeprefix("0x")
    if digits != key and _HEX_DIGITS.fullmatch(digits):
        return f"an address has 40 hex digits after 0x, and this has {len(digits):,}"
    return "an address is 0x and 40 hex digits"


def _account_malformed(key: str, place: Place, why: str) -> Refusal:
    # Clients compare the beginning.
    said = f"Invalid account address or ENS name {quoted(key)} in {place.holder}: {why}."
    return Refusal(ACCOUNT_MALFORMED, said, path=place.path)


def _read_entry(value: object, place: Place, asked: _Asked, so_far: BatchSoFar) -> None:
    entry = read_object(value, place)
    refuse_unknown(entry, _FIELDS, place)
    props = optional(entry, "props", place)
    slots = optional(entry, "slots", place)
    if props is not None:
        _read_props(props, place.inside("props"), asked)
    if slots is not None:
        _read_slots(slots, place.inside("slots"), asked, so_far)
    if not props and not slots:
        raise Refusal(
            NOTHING_ASKED,
            f"{place} asks for nothing. Name at least one of its props "
            f"({listed(AccountField.__members__)}) or one of its slots.",
            path=place.path,
        )


def _read_props(value: object, place: Place, asked: _Asked) -> None:
    for position, each in enumerate(read_list(value, place)):
        here = place.inside(position)
        name = read_text(each, here, AccountField.BALANCE.name)
        if name not in AccountField.__members__:
            raise Refusal(
                UNKNOWN_PROP,
                f"{here} is {quoted(name)}, but an account's props are "
                f"{listed(AccountField.__members__)}.",
                path=here.path,
            )
        asked.props[AccountField[name]] = None


def _read_slots(value: object, place: Place, asked: _Asked, so_far: BatchSoFar) -> None:
    for position, each in enumerate(read_list(value, place)):
        here = place.inside(position)
        slot = _read_slot(read_text(each, here, "0x1"), here)
        if slot not in asked.slots:
            so_far.count_slot(here)
            asked.slots[slot] = None


def _read_slot(text: str, place: Place) -> bytes:
    match = _SLOT.fullmatch(text)
    if match:
        return bytes.fromhex(match[1].zfill(_SLOT_DIGITS))
    raise Refusal(
        SLOT_MALFORMED,
        f"{place} is {quoted(text)}, but a slot is 0x and 1 to 64 hex digits{_slot_hint(text)}.",
        path=place.path,
    )


def _slot_hint(text: str) -> str:
    if text == "0x":
        return ': slot 0 is "0x0"'
    if _DECIMAL_SLOT.fullmatch(text):
        return f': slot {int(text)} is "{int(text):#x}"'
    digits = text.removeprefix("0x")
    if digits != text and _HEX_DIGITS.fullmatch(digits):
        return f", and this has {len(digits):,}"
    return ""
