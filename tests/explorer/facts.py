"""Facts for tests that need no chain."""

from queries.reading.facts import BLOCK_AT_TIME, FactKind, FactView

ACCOUNT = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
NUMBERS = {"NONCE": 0, "BALANCE": 1, "STORAGE_ROOT": 2, "CODE_HASH": 3}


def word(number: int) -> str:
    return f"0x{number:064x}"


def account_field(name: str, value: int, ens_name: str = "") -> FactView:
    key = NUMBERS[name]
    return FactView(FactKind.ACCOUNT_FIELD, 1, 10, 7, ACCOUNT, ens_name, name, key, word(value))


def header_field(name: str, value: int, key: int = 11) -> FactView:
    return FactView(FactKind.HEADER_FIELD, 1, 10, 7, "", "", name, key, word(value))


def slot(value: int, key: int = 5) -> FactView:
    return FactView(FactKind.STORAGE_SLOT, 1, 10, 7, ACCOUNT, "", word(key), key, word(value))


def block_at_time(seconds: int, block: int = 7) -> FactView:
    kind = FactKind.BLOCK_AT_TIME
    return FactView(kind, 1, 10, block, "", "", BLOCK_AT_TIME, seconds, word(block))
