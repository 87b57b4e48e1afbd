"""Facts of any kind, by the grammar of its names."""

import re

from hypothesis import strategies as st

from queries.proving.accounts import ADDRESS_BYTES
from queries.proving.facts import parse_fact
from queries.proving.facts.fact import BlockFact

ACCOUNT = b"\xac" * ADDRESS_BYTES


def account_of(kind: type[BlockFact]) -> bytes:
    return ACCOUNT if kind.has_account else b""


def names(kind: type[BlockFact]) -> st.SearchStrategy[str]:
    return st.from_regex(re.compile(kind.pattern, re.ASCII), fullmatch=True)


def facts(kind: type[BlockFact]) -> st.SearchStrategy[BlockFact]:
    def parse(name: str) -> BlockFact:
        fact = parse_fact(name, account_of(kind))
        assert fact, name
        return fact

    return names(kind).map(parse)
