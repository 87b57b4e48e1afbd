"""Selectors: how requests spell a block.

block:5186021                 its number
timestamp:1703799420          the last block at or before this time, in Unix seconds
block:$block                  the block that a contract names
block:$due, timestamp:$due    in a feed, the block or the time that is due
hash:$topic2, hash:$data[0]   in a feed, the block whose hash a log has
"""

import re
from dataclasses import dataclass

_MAX_NUMBER = 2**64 - 1
_SELECTOR = re.compile(r"(block|timestamp):(0|[1-9][0-9]{0,19})")
_HASH_SELECTOR = re.compile(r"hash:(\$(?:topic[1-3]|data\[[0-9]{1,3}\]))")
# These accept everything that a server may accept, and a little more.
SELECTOR_PATTERN = "^(block:(0|[1-9][0-9]{0,18}|[$]block)|timestamp:(0|[1-9][0-9]{0,9}))$"
FEED_SELECTOR_PATTERN = r"^((block|timestamp):[$]due|block:[$]block|hash:[$](topic|data)[^.]+)$"
SELECTOR_FORMS = (
    "`block:` and its number, or `timestamp:` and Unix seconds for the last block at or before "
    "that time"
)


def block_selector(number: int | str) -> str:
    return f"block:{number}"


def time_selector(seconds: int | str) -> str:
    return f"timestamp:{seconds}"


def hash_selector(placeholder: str) -> str:
    return f"hash:{placeholder}"


NAMED_BLOCK = block_selector("$block")
DUE_BLOCK, DUE_TIME = block_selector("$due"), time_selector("$due")
EXAMPLE_SELECTOR = block_selector(5186021)


@dataclass(frozen=True, slots=True)
class Selector:
    """The block with this number, the last block at or before this time in Unix seconds, or the
    block that a contract names.
    """

    number: int
    is_time: bool = False
    is_named: bool = False

    def __str__(self) -> str:
        if self.is_named:
            return NAMED_BLOCK
        return time_selector(self.number) if self.is_time else block_selector(self.number)


def selector_of(block: int | str | None, timestamp: int | str | None) -> str:
    """The selector of a query's block. Without either, a contract has yet to name it."""
    if timestamp is not None:
        return time_selector(timestamp)
    return NAMED_BLOCK if block is None else block_selector(block)


def parse_selector(text: str) -> Selector | None:
    """The selector of a number or a time; None for other texts."""
    match = _SELECTOR.fullmatch(text)
    if not match or int(match[2]) > _MAX_NUMBER:
        return None
    return Selector(int(match[2]), is_time=match[1] == "timestamp")


def placeholder_of_hash(selector: str) -> str:
    """The placeholder of the hash that names the block, such as `$topic2`; empty without one."""
    match = _HASH_SELECTOR.fullmatch(selector)
    return match[1] if match else ""
