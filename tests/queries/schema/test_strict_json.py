import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from accounts.http.errors import RefusalError
from queries.schema.strict_json import read_json
from tests.queries.schema.example_batches import LEGACY

pytestmark = pytest.mark.no_database

TEN_MEGABYTES = 10_000_000

numbers = st.integers(-(10**98), 10**98) | st.floats(allow_nan=False, allow_infinity=False)
plain = st.none() | st.booleans() | numbers
# Every character but those that databases cannot keep.
storable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=9)
contents = st.recursive(
    plain | storable,
    lambda parts: st.lists(parts, max_size=4) | st.dictionaries(storable, parts, max_size=4),
    max_leaves=12,
)


def refusal_of(body: bytes | str, max_bytes: int = TEN_MEGABYTES * 2) -> RefusalError:
    with pytest.raises(RefusalError) as caught:
        read_json(body if isinstance(body, bytes) else body.encode(), max_bytes)
    return caught.value


@given(contents, st.booleans())
def test_json_is_read_as_the_standard_reader_reads_it(content: object, ascii_only: bool) -> None:
    assert read_json(json.dumps(content, ensure_ascii=ascii_only).encode(), 10_000) == content


@pytest.mark.parametrize(
    ("body", "code", "path", "beginning"),
    [
        (b"", "not_json", "", "The body is empty"),
        (b"\xef\xbb\xbf{}", "not_json", "", "The body begins with a byte order mark"),
        ("{}".encode("utf-16"), "not_json", "", "The body is not UTF-8: byte 1 "),
        ("{}".encode("utf-16-le"), "not_json", "", "The body is not JSON: "),
        # A surrogate in three bytes, and U+0000 in two: other encodings than UTF-8.
        (b'"\xed\xa0\x80"', "not_json", "", "The body is not UTF-8: byte 2 "),
        (b'"\xc0\x80"', "not_json", "", "The body is not UTF-8: byte 2 "),
        (b"{} {}", "not_json", "", "The body is not JSON: extra data at line 1, column 4"),
        (b"{'a': 1}", "not_json", "", "The body is not JSON: expecting property name"),
        (b'{\n"a": }', "not_json", "", "The body is not JSON: expecting value at line 2, column 6"),
        (b'["', "not_json", "", "The body is not JSON: unterminated string starting at line 1"),
        (b'["a\nb"]', "not_json", "", "The body is not JSON: invalid control character at line 1"),
        (b"NaN", "number_malformed", "", "The body is NaN, "),
        (b'{"a": [0, Infinity]}', "number_malformed", "a[1]", "a[1] is Infinity, "),
        (b'{"a": {"b": -Infinity}}', "number_malformed", "a.b", "a.b is -Infinity, "),
        (b'{"a": ' + 5_000 * b"1" + b"}", "number_malformed", "", "The body has a number with "),
        (b'{"a": 1, "a": 1}', "duplicate_key", "", 'The body has the key "a" twice'),
        (b'{"a": 1, "\\u0061": 1}', "duplicate_key", "", 'The body has the key "a" twice'),
        (
            b'{"data": {"1": [0, {"block:5": {}, "other": {}, "block:5": {}}]}}',
            "duplicate_key", "data.1[1]", 'data.1[1] has the key "block:5" twice',
        ),
        (b'["\\u0000"]', "text_not_storable", "[0]", "[0] contains U+0000, "),
        (b'{"a": {"b\\u0000": 1}}', "text_not_storable", "a.b\\u0000", "The key a.b\\u0000 "),
        (b'"\\ud800"', "text_not_storable", "", "The body contains U+D800, "),
        (b'{"\\udfff": 1}', "text_not_storable", "\\udfff", "The key \\udfff contains U+DFFF"),
        # Unprintable characters in a path are escaped.
        ('{"\u202e\\n": NaN}', "number_malformed", "\\u202e\\u000a", "\\u202e\\u000a is NaN"),
        (b'{"": {"": NaN}}', "number_malformed", '"".""', '""."" is NaN'),
        (b"[" * 100_000, "nested_too_deeply", "", "The body nests more than 32 "),
    ],
)  # fmt: skip
def test_a_malformed_body_is_refused_with_its_path(
    body: bytes | str, code: str, path: str, beginning: str
) -> None:
    refusal = refusal_of(body)
    assert (refusal.code, refusal.path) == (code, path)
    assert refusal.sentence.startswith(beginning)


def test_a_pair_of_surrogates_is_one_character() -> None:
    assert read_json(b'["\\ud83d\\ude00"]', 100) == ["\U0001f600"]


def test_a_body_over_the_size_limit_is_refused() -> None:
    assert read_json(b"[123]", 5) == [123]
    refusal = refusal_of(b"[123]", 4)
    assert (refusal.code, refusal.status) == ("body_too_large", 413)
    assert refusal.sentence == "The body has 5 bytes; at most 4 are accepted."


def test_a_body_nested_deeper_than_the_limit_is_refused() -> None:
    deepest = 32 * '{"a":' + "0" + 32 * "}"
    assert read_json(deepest.encode(), 1_000) == json.loads(deepest)
    assert refusal_of(f"[{deepest}]").code == "nested_too_deeply"


@settings(deadline=None)
@given(st.binary(max_size=40), st.integers(0, len(LEGACY) - 1), st.integers(0, 40))
@example(b"\\ud800", LEGACY.index("PARENT"), 0)
def test_any_bytes_are_read_or_refused(inserted: bytes, start: int, length: int) -> None:
    body = LEGACY.encode()
    for changed in (inserted, body[:start] + inserted + body[start + length :]):
        try:
            content = read_json(changed, 10_000)
        except RefusalError as refusal:
            assert refusal.sentence.encode()
            assert len(refusal.sentence) < 500
        else:
            # The standard reader is laxer, never different.
            assert content == json.loads(changed)
