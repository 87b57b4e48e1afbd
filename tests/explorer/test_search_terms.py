"""What a text may mean, before anything is looked for."""

import pytest

from explorer.pages.search import Terms, legible, terms_of

pytestmark = pytest.mark.no_database

CHAINS = {"sepolia": 11155111, "11155111": 11155111, "op mainnet": 10, "10": 10}
BATCH = "01J2VM6JSA6VKKZ0ENWGYYPR18"
HASH = "ab" * 32
ADDRESS = "d8da6bf26964af9d7eed9e03e53415d37aa96045"


def _terms(text: str) -> Terms:
    return terms_of(text, CHAINS)


@pytest.mark.parametrize(
    "text",
    [
        BATCH,
        BATCH.lower(),
        f"  {BATCH}\n",
        BATCH.replace("0", "O").replace("1", "l"),
        f"https://tacitus.example/explorer/query/{BATCH}?open=1#query-3",
        f"http://127.0.0.1:8000/explorer/query/{BATCH.lower()}/",
    ],
)
def test_a_batch(text: str) -> None:
    assert _terms(text).batch == BATCH


@pytest.mark.parametrize(
    "text", [f"0x{HASH}", HASH, HASH.upper(), f"0X{HASH}", f"https://scan.example/tx/0x{HASH}"]
)
def test_a_hash(text: str) -> None:
    assert _terms(text).hash == HASH


@pytest.mark.parametrize(
    "text",
    [
        f"0x{ADDRESS}",
        ADDRESS,
        ADDRESS.upper(),
        f"https://scan.example/address/0x{ADDRESS}#code",
        "1234567890" * 4,
    ],
)
def test_an_address(text: str) -> None:
    assert _terms(text).address == text.partition("#")[0][-40:].lower()
    assert _terms(text).number is None


@pytest.mark.parametrize(
    ("text", "number", "chain"),
    [
        ("5186021", 5186021, None),
        ("5,186,021", 5186021, None),
        ("5 186 021", 5186021, None),
        ("block:123", 123, None),
        ("Block #123", 123, None),
        ("sepolia 123", 123, 11155111),
        ("Sepolia block 5,186,021", 5186021, 11155111),
        ("11155111:123", 123, 11155111),
        ("OP  Mainnet 12", 12, 10),
        ("10 123", 123, 10),
        ("https://tacitus.example/explorer/block/10/123", 123, 10),
        ("https://scan.example/block/123", 123, None),
        (str(2**63 - 1), 2**63 - 1, None),
    ],
)
def test_a_block(text: str, number: int, chain: int | None) -> None:
    found = _terms(text)
    assert (found.number, found.number_chain) == (number, chain)


@pytest.mark.parametrize("text", ["vitalik.eth", "Vitalik.ETH", "a.b-c.eth"])
def test_a_name(text: str) -> None:
    assert _terms(text).name == text.lower()


def test_a_chain() -> None:
    assert _terms("Sepolia").chain == 11155111
    assert (_terms("10").chain, _terms("10").number) == (10, 10)


HOSTILE = [
    "", " ", "-1", "9" * 20, "9" * 5_000, "\N{ARABIC-INDIC DIGIT THREE}",
    "\N{FULLWIDTH DIGIT ONE}2", "0x", "0x" + "g" * 64, "\x00", f"{BATCH}\x00", "\u202e0xabc",
    "https://[", "https://",
    "nochain 12", "1 " * 140, ":" * 290, "1" + " " * 200 + "x", "a." * 140 + "a", "block" * 50,
    "<script>alert(1)</script>", "'; DROP TABLE queries_batch; --", "%", "_" * 26, "1,111" * 50,
    "https://x/block/" + "9" * 250,
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_whatever_else_means_nothing(text: str) -> None:
    assert _terms(text).kinds == ()


def test_what_has_no_shape_is_shown_as_a_mark() -> None:
    assert legible("a\u202eb\x00c") == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c"
