"""What each field of a batch means, for the page; programs have it from `request_schema`."""

from queries.proving.header_fields import HeaderField
from queries.proving.witnesses import AccountField
from queries.schema.batch_rules import BatchLimits
from queries.schema.wording import listed


def request_fields(limits: BatchLimits) -> dict[str, str]:
    """By their names, in the order in which they stand in each other."""
    return {
        "destinationChainId": (
            "The chain on which the facts are to be read: its id in decimal, or an alias that the "
            "operator gave it. Required, as are the next two."
        ),
        "fee": (
            'The most that may be spent on the batch, in wei of that chain. "0" is taken where '
            "proving is free; POST /estimate tells what it takes elsewhere."
        ),
        "data": "What to prove: blocks, by the id of their source chain.",
        "block:…": "A block by its number.",
        "timestamp:…": "A block by a time in Unix seconds: the last one that is not younger.",
        "header": f"Fields of the block's header, of {listed(HeaderField.__members__)}.",
        "accounts": (
            "Accounts at that block: by address, in letters of any case, or by ENS name where the "
            "source chain has names."
        ),
        "props": f"Of an account: {listed(AccountField.__members__)}.",
        "slots": "Storage slots of an account: 0x and 1 to 64 hex digits each.",
        "webhook": (
            "url, where to tell that the batch has ended, and headers to send along: at most "
            f"{limits.webhook_headers:,}, of {limits.webhook_header_bytes:,} bytes together."
        ),
    }
