"""Headers as a node writes them."""

from queries.proving.errors import HeaderFieldMissingError
from queries.proving.headers import FIELD_RULES, LATER_FIELD_RULES, Form, Header
from queries.proving.rlp_items import read_string


def header_to_json(header: Header) -> dict[str, str]:
    """Write the header as a node does; one of a fork whose fields have no names yet is refused."""
    rules = FIELD_RULES + LATER_FIELD_RULES
    payloads = [*header.payloads, *map(read_string, header.later_items)]
    if len(payloads) > len(rules):
        raise HeaderFieldMissingError(
            f"the header 0x{header.hash.hex()} has {len(payloads)} fields; {len(rules)} are known"
        )
    written = {"hash": f"0x{header.hash.hex()}"}
    for rule, payload in zip(rules, payloads, strict=False):
        is_integer = rule.form is Form.INTEGER
        text = hex(int.from_bytes(payload)) if is_integer else f"0x{payload.hex()}"
        written[rule.json_key] = text
    return written
