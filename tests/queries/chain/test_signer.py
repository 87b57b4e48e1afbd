"""The signer: reading its key, signing, and never showing the key."""

import json
import pprint
import sys
import traceback

import pytest
from django.test import RequestFactory
from django.views.debug import ExceptionReporter
from eth_account import Account

from queries.chain.signer import Signer, SignerUnusableError, open_signer

pytestmark = pytest.mark.no_database

KEY = "4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318"
ADDRESS = "0x2c7536E3605D9C16a7a3D7b1898e529396a65c23"
PASSWORD = "correct horse"


@pytest.fixture(scope="module")
def keystore() -> str:
    # Few rounds, to be fast.
    return json.dumps(Account.encrypt(bytes.fromhex(KEY), PASSWORD, kdf="pbkdf2", iterations=10))


@pytest.mark.parametrize("text", [KEY, f"0x{KEY}", f" 0x{KEY.upper()}\n"])
def test_a_key_is_read(text: str) -> None:
    assert open_signer(text).address == ADDRESS


def test_a_keystore_is_opened(keystore: str) -> None:
    assert open_signer("", keystore, PASSWORD).address == ADDRESS


WRONG_KEYS = [
    KEY[:-1], KEY + "0", KEY[:-1] + "g", "0" * 64, "f" * 64, f"0x0x{KEY}", "hunter2",
    f"{KEY} {KEY}",
]  # fmt: skip


@pytest.mark.parametrize("key", WRONG_KEYS)
def test_a_wrong_key_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(SignerUnusableError) as caught:
        open_signer(key)
    assert str(caught.value) == "SIGNER_KEY is not a private key (32 bytes in hex)."


CONFLICT = "Set SIGNER_KEY alone, or SIGNER_KEYSTORE and SIGNER_PASSWORD; now set:"


@pytest.mark.parametrize(
    ("key", "store", "password", "start"),
    [
        ("", "", "", "There is no signer: set SIGNER_KEY"),
        ("", "", "x", f"{CONFLICT} SIGNER_PASSWORD."),
        ("", "{}", "", f"{CONFLICT} SIGNER_KEYSTORE."),
        ("", "{}", "x", "SIGNER_KEYSTORE cannot be opened"),
        ("", "no json", "x", "SIGNER_KEYSTORE cannot be opened"),
        ("", "KEYSTORE", "x", "SIGNER_KEYSTORE cannot be opened"),
        (KEY, "{}", "", f"{CONFLICT} SIGNER_KEY, SIGNER_KEYSTORE."),
        (KEY, "{}", "x", f"{CONFLICT} SIGNER_KEY, SIGNER_KEYSTORE, SIGNER_PASSWORD."),
        (KEY, "", "x", f"{CONFLICT} SIGNER_KEY, SIGNER_PASSWORD."),
    ],
)
def test_wrong_settings_are_reported(
    keystore: str, key: str, store: str, password: str, start: str
) -> None:
    with pytest.raises(SignerUnusableError) as caught:
        open_signer(key, keystore if store == "KEYSTORE" else store, password)
    assert str(caught.value).startswith(start)


def test_no_representation_shows_the_key() -> None:
    signer = Signer(KEY)
    representations = f"{signer} {signer!r} {pprint.pformat(signer)} {pprint.pformat(vars(signer))}"
    assert ADDRESS in representations
    assert KEY not in representations


@pytest.mark.parametrize("case", ["key", "password", "key alone"])
def test_no_error_page_or_traceback_shows_a_secret(keystore: str, case: str) -> None:
    """With DEBUG, Django shows the local variables of all functions."""
    wrong = f"hunter2{KEY}"
    try:
        if case == "key alone":
            Signer(wrong)
        elif case == "key":
            open_signer(wrong)
        else:
            open_signer("", keystore, wrong)
    except SignerUnusableError:
        reporter = ExceptionReporter(RequestFactory().get("/"), *sys.exc_info())
        frames = [
            frame
            for frame in reporter.get_traceback_frames()
            if frame["filename"].endswith("/signer.py")
        ]
        report = str([frame["vars"] for frame in frames]) + traceback.format_exc(limit=-1)
    assert frames
    assert "hunter2" not in report
    assert KEY not in report
