"""The webhook of a request: its URL and its headers."""

import pytest

from accounts.http.errors import RefusalError
from queries.schema.bodies import MAX_URL_CHARACTERS, WebhookBody
from tests.queries.schema.example_batches import BALANCE, LIMITS, account_batch, read

pytestmark = pytest.mark.no_database

HOOK = "https://example.org/hook"
SECRET = "very-secret"


def read_webhook(webhook: object) -> WebhookBody | None:
    return read(account_batch(BALANCE) | {"webhook": webhook}).webhook


def refusal_of(webhook: object) -> RefusalError:
    with pytest.raises(RefusalError) as caught:
        read_webhook(webhook)
    assert SECRET not in caught.value.sentence + caught.value.path
    return caught.value


@pytest.mark.parametrize(
    "url",
    [HOOK, "http://example.org", "HTTPS://EXAMPLE.org:8443/", "https://example.org?a=b&c=%20",
     "http://127.0.0.1:80/a/../b;c", "https://[2001:db8::1]:443/x", "http://[::ffff:10.0.0.1]",
     "https://a_b.example.org./", "https://xn--e28h.example/\\", "http://example.org:65535/@me",
     HOOK + "x" * (MAX_URL_CHARACTERS - len(HOOK))],
    ids=lambda url: url[:40],
)  # fmt: skip
def test_a_url_is_accepted_unchanged(url: str) -> None:
    assert read_webhook({"url": url}) == WebhookBody(url=url)


@pytest.mark.parametrize(
    ("url", "beginning"),
    [
        *((url, "must be a full http or https URL") for url in (
            "example.org/hook", "//example.org", "/hook", "ftp://example.org", "file:///etc/passwd",
            "https:/example.org", "https://", "https://:443/", "https://a..b/",
            "https://example.org:port/", "https://example.org:0/", "https://example.org:65536/",
            # Parsers disagree about the host of these.
            "https://example.org\\.other.org/",
            "https://exam%70le.org/", "https://[::1]other.org/", "https://other[::1]/",
            "https://[::1", "https://[fe80::1%25eth0]/", "https://[]/", f"https://{'a' * 64}.org/",
        )),
        *((url, "must be a URL in visible ASCII") for url in (
            "", " ", f" {HOOK}", f"{HOOK} ", f"{HOOK}\n", "https://exam\tple.org/", f"{HOOK}\x00",
            "https://ex\u00e4mple.org/", f"{HOOK}\u2028", "https://example\u3002org/",
            f"{HOOK}\r\nHost: other.org", f"{HOOK}\x7f")),
        *((url, "must not contain a user name or password") for url in (
            "https://user:very-secret@example.org/", "https://user@example.org/",
            "https://@example.org/", "https://example.org@", "https://a@b@example.org:1/",
            "https://very-secret\\@example.org/", "https://example.org\\@other.org/")),
        *((url, "must not have a fragment") for url in (f"{HOOK}#", f"{HOOK}#very-secret",
                                                        "https://example.org#@other.org/")),
        (HOOK + "x" * MAX_URL_CHARACTERS, "has 2,024 characters; at most 2,000 are allowed"),
    ],
    ids=lambda text: ascii(text[:40]),
)  # fmt: skip
def test_a_malformed_url_is_refused(url: str, beginning: str) -> None:
    refusal = refusal_of({"url": url})
    assert (refusal.code, refusal.path) == ("webhook_malformed", "webhook.url")
    assert refusal.sentence.startswith(f"webhook.url {beginning}"), refusal.sentence


@pytest.mark.parametrize(
    ("webhook", "code", "path", "beginning"),
    [
        (None, "wrong_type", "webhook", "webhook must not be null. Leave it out instead."),
        (HOOK, "wrong_type", "webhook", "webhook must be an object, not text."),
        ({}, "missing_field", "webhook.url", "webhook.url is missing: the address that is called"),
        ({"url": HOOK, "secret": SECRET}, "unknown_field", "webhook.secret",
         "webhook.secret is an unknown field; the known fields are url and headers."),
        ({"url": HOOK, "headers": None}, "wrong_type", "webhook.headers",
         "webhook.headers must not be null. Leave it out instead."),
        ({"url": HOOK, "headers": {"X-Retry": 5}}, "wrong_type", "webhook.headers.X-Retry",
         "webhook.headers.X-Retry must be text in quotes"),
        ({"url": HOOK, "headers": {"X-A": "1", "x-a": "2"}}, "duplicate_key", "webhook.headers.x-a",
         "webhook.headers.x-a occurs twice"),
        ({"url": HOOK, "headers": {"a": "", "b": "", "c": "", "d": ""}}, "too_many_webhook_headers",
         "webhook.headers", "A webhook may have at most 3 headers here."),
        ({"url": HOOK, "headers": {"abc": "1" * 98}}, "webhook_headers_too_large",
         "webhook.headers", "A webhook's headers may have at most 100 bytes here"),
    ],
)  # fmt: skip
def test_a_malformed_webhook_is_refused(
    webhook: object, code: str, path: str, beginning: str
) -> None:
    refusal = refusal_of(webhook)
    assert (refusal.code, refusal.path) == (code, path)
    assert refusal.sentence.startswith(beginning)


def test_headers_up_to_the_size_limit_are_accepted() -> None:
    sent = {"Authorization": f"Bearer {SECRET}", "x!#$%&'*+-.^_`|~": "a\tb c", "empty": ""}
    room = LIMITS.webhook_header_bytes - sum(map(len, [*sent, *sent.values()]))
    sent["empty"] = "~" * room
    webhook = read_webhook({"url": HOOK, "headers": sent})
    assert webhook == WebhookBody(url=HOOK, headers=sent)
    sent["empty"] += "~"
    assert refusal_of({"url": HOOK, "headers": sent}).code == "webhook_headers_too_large"


@pytest.mark.parametrize(
    "name",
    ["", " ", "X A", "X-A:", " X-A", "X-A\n", "X-\u00c4", "X(A)", "X/A", "\u212aeep-alive",
     "X-A\r\nHost", "Host", "CONTENT-LENGTH", "Transfer-Encoding", "connection", "expect",
     "keep-alive", "proxy-connection", "te", "trailer", "upgrade", "Webhook-Signature",
     "webhook-id", "WEBHOOK-"],
    ids=ascii,
)  # fmt: skip
def test_a_header_that_must_not_be_sent_is_refused(name: str) -> None:
    refusal = refusal_of({"url": HOOK, "headers": {name: SECRET}})
    assert refusal.code == "webhook_malformed"
    assert refusal.path.startswith("webhook.headers.")


@pytest.mark.parametrize(
    "value",
    [f"{SECRET}\r\nHost: a", f"{SECRET}\n", f"{SECRET}\r", f"\x00{SECRET}", f"{SECRET}\u00e4",
     f"{SECRET}\u2028", f" {SECRET}", f"{SECRET} ", f"\t{SECRET}", " ", f"{SECRET}\x7f"],
    ids=ascii,
)  # fmt: skip
def test_a_header_value_that_must_not_be_sent_is_refused(value: str) -> None:
    refusal = refusal_of({"url": HOOK, "headers": {"X-A": value}})
    assert (refusal.code, refusal.path) == ("webhook_malformed", "webhook.headers.X-A")
    assert "its value" in refusal.sentence
