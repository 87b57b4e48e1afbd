"""How a setting's text becomes a value, and the sentence where it cannot."""

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


@pytest.mark.parametrize("text", ["-1", "1e3", "0x10", "1.5", "٣", "4"])
def test_a_bad_number_is_refused(text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="whole number >= 5"):
        Environment({"NUMBER": text}).number("NUMBER", 9, least=5)


def test_a_choice_is_one_of_those() -> None:
    assert Environment({"LEVEL": "info"}).choice("LEVEL", "ERROR", ("INFO", "ERROR")) == "INFO"
    with pytest.raises(ImproperlyConfigured, match="LEVEL is 'LOUD'; set it to INFO, ERROR"):
        Environment({"LEVEL": "loud"}).choice("LEVEL", "ERROR", ("INFO", "ERROR"))


def test_names_are_split_at_commas() -> None:
    assert Environment({"HOSTS": "a.example, b.example ,,"}).names("HOSTS") == [
        "a.example",
        "b.example",
    ]


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


def test_a_secret_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing, empty, binary = tmp_path / "missing", tmp_path / "empty", tmp_path / "binary"
    empty.write_text("\n")
    binary.write_bytes(b"\xff\xfe")
    for file, reason in [(missing, "No such file"), (empty, "is empty"), (binary, "UTF-8")]:
        with pytest.raises(ImproperlyConfigured, match=reason):
            Environment({"SECRET_FILE": str(file)}).secret("SECRET", "default")


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://proofs.example.org", "proofs.example.org"),
        ("https://proofs.example.org/", "proofs.example.org"),
        ("https://proofs.example.org:8443", "proofs.example.org"),
        ("https://[::1]:8000", "[::1]"),
    ],
)
def test_an_origin(address: str, host: str) -> None:
    env = Environment({"SITE_URL": address})
    assert env.origin("SITE_URL", "", https=True) == (address.rstrip("/"), host)


@pytest.mark.parametrize(
    "address",
    [
        "proofs.example.org",
        "http://proofs.example.org",
        "https://proofs.example.org/path",
        "https://user:password@proofs.example.org",
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
