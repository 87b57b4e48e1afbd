"""How a setting's text becomes a value, and the sentence where it cannot."""

import re
import traceback
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from explorer.environment import Environment

pytestmark = pytest.mark.no_database


@pytest.mark.parametrize("text", ["1", "true", "YES", " on "])
def test_a_flag_is_on(text: str) -> None:
    assert Environment({"FLAG": text}).flag("FLAG") is True


@pytest.mark.parametrize("text", ["0", "false", "No", "off"])
def test_a_flag_is_off(text: str) -> None:
    assert Environment({"FLAG": text}).flag("FLAG", default=True) is False


def test_an_empty_variable_counts_as_unset() -> None:
    env = Environment({"FLAG": "", "NUMBER": " ", "SECRET": ""})
    assert env.flag("FLAG", default=True) is True
    assert env.number("NUMBER", 7) == 7
    assert env.secret("SECRET", "default") == "default"


@pytest.mark.parametrize("text", ["maybe", "-1", "2"])
def test_another_flag_is_refused(text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"FLAG is '.*'; set it to 1 or 0"):
        Environment({"FLAG": text}).flag("FLAG")


@pytest.mark.parametrize("text", ["-1", "1e3", "0x10", "1.5", "٣", "4", "2147483648", "9" * 5000])
def test_a_bad_number_is_refused(text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="a whole number from 5 to 2147483647"):
        Environment({"NUMBER": text}).number("NUMBER", 9, least=5)


def test_a_choice_is_one_of_those() -> None:
    assert Environment({"LEVEL": "info"}).choice("LEVEL", "ERROR", ("INFO", "ERROR")) == "INFO"
    with pytest.raises(ImproperlyConfigured, match="LEVEL is 'LOUD'; set it to INFO, ERROR"):
        Environment({"LEVEL": "loud"}).choice("LEVEL", "ERROR", ("INFO", "ERROR"))


def test_hosts_are_split_at_commas_and_written_as_requests_carry_them() -> None:
    env = Environment({"HOSTS": "a.example, B.example ,,10.0.0.7,::1,[::2], xn--bcher-kva.example"})
    assert env.hosts("HOSTS") == [
        "a.example",
        "b.example",
        "10.0.0.7",
        "[::1]",
        "[::2]",
        "xn--bcher-kva.example",
    ]


@pytest.mark.parametrize(
    "host",
    [
        "*",
        "*.example.org",
        ".example.org",
        "example.org.",
        "a..example",
        "a_b.example",
        "https://a.example",
        "a.example:8000",
        "a.example b.example",
        "-a.example",
    ],
)
def test_what_is_no_host_is_refused(host: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"HOSTS is '.*'; a host is letters, digits"):
        Environment({"HOSTS": f"good.example,{host}"}).hosts("HOSTS")


@pytest.mark.parametrize(
    ("host", "form"), [("bücher.example", "xn--bcher-kva.example"), ("a..ü", "its xn-- form")]
)
def test_a_host_that_is_not_ascii_is_told_its_ascii_form(host: str, form: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=re.escape(f"written in ASCII: {form}.")):
        Environment({"HOSTS": host}).hosts("HOSTS")
    with pytest.raises(ImproperlyConfigured, match="written in ASCII"):
        Environment({"SITE_URL": f"https://{host}"}).origin("SITE_URL", "", https=True)


WALLET = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"


def test_wallets_are_addresses_and_those_of_contracts_name_their_chain() -> None:
    env = Environment({"WALLETS": f" {WALLET},10:{WALLET} ,"})
    assert env.wallets("WALLETS") == [WALLET, f"10:{WALLET}"]


@pytest.mark.parametrize(
    "wallet",
    [WALLET.lower(), f":{WALLET}", f"0:{WALLET}", f"0x1:{WALLET}", f"eth:{WALLET}", "10:", "x"],
)
def test_what_is_no_wallet_is_refused(wallet: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="set it to addresses with their checksums"):
        Environment({"WALLETS": wallet}).wallets("WALLETS")


def test_a_secret_is_read_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("the secret\n")
    assert Environment({"SECRET_FILE": str(file)}).secret("SECRET") == "the secret"


def test_a_secret_given_twice_is_refused_without_repeating_it(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("in the file")
    env = Environment({"SECRET": "in the variable", "SECRET_FILE": str(file)})
    with pytest.raises(
        ImproperlyConfigured, match="SECRET and SECRET_FILE are both set"
    ) as refusal:
        env.secret("SECRET")
    assert "in the" not in str(refusal.value)


def test_a_secret_file_that_cannot_be_read_is_told_without_its_name(tmp_path: Path) -> None:
    """The secret itself may stand in NAME_FILE by mistake."""
    missing, empty, binary = tmp_path / "hunter2", tmp_path / "hunter22", tmp_path / "hunter23"
    empty.write_text("\n")
    binary.write_bytes(b"\xff\xfe")
    for file, reason in [
        (missing, "cannot be read: No such file or directory"),
        (empty, "is empty"),
        (binary, "is not UTF-8 text"),
    ]:
        with pytest.raises(ImproperlyConfigured) as refusal:
            Environment({"SECRET_FILE": str(file)}).secret("SECRET", "default")
        assert str(refusal.value) == f"The file that SECRET_FILE names {reason}."
        assert "hunter2" not in "".join(traceback.format_exception(refusal.value))


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://proofs.example.org", "proofs.example.org"),
        ("https://proofs.example.org/", "proofs.example.org"),
        ("https://proofs.example.org:8443", "proofs.example.org"),
        ("https://[::1]:8000", "[::1]"),
        ("HTTPS://Proofs.Example.ORG", "proofs.example.org"),
    ],
)
def test_an_origin(address: str, host: str) -> None:
    env = Environment({"SITE_URL": address})
    assert env.origin("SITE_URL", "", https=True) == (address.rstrip("/").lower(), host)


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://proofs.example.org:443", "https://proofs.example.org"),
        ("https://[::1]:443/", "https://[::1]"),
        ("http://127.0.0.1:80", "http://127.0.0.1"),
        ("http://127.0.0.1:443", "http://127.0.0.1:443"),
        ("https://proofs.example.org:80", "https://proofs.example.org:80"),
    ],
)
def test_a_schemes_own_port_is_left_out_as_browsers_do(address: str, origin: str) -> None:
    assert Environment({"SITE_URL": address}).origin("SITE_URL", "", https=False)[0] == origin


@pytest.mark.parametrize(
    "address",
    [
        "proofs.example.org",
        "http://proofs.example.org",
        "https://proofs.example.org/path",
        "https://*.example.org",
        "https://.example.org",
        "https://a_b.example.org",
        "https://two names.example.org",
        "https://proofs.example.org?x=1",
        "https://:443",
        "https://host:port",
        "https://[half",
        "ftp://proofs.example.org",
    ],
)
def test_an_address_that_is_no_https_origin_is_refused(address: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="SITE_URL is"):
        Environment({"SITE_URL": address}).origin("SITE_URL", "", https=True)


@pytest.mark.parametrize("host", ["user:hunter2@proofs.example.org", "hunter2@x/", "x/?hunter2@y"])
def test_a_password_in_an_address_is_not_repeated(host: str) -> None:
    env = Environment({"SITE_URL": f"https://{host}", "HOSTS": host})
    for refused in (lambda: env.origin("SITE_URL", "", https=True), lambda: env.hosts("HOSTS")):
        with pytest.raises(ImproperlyConfigured, match="is not understood; ") as refusal:
            refused()
        assert "hunter2" not in "".join(traceback.format_exception(refusal.value))
