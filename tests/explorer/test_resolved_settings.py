"""What production settings come to, and what each variable changes in them."""

import os
import runpy
from pathlib import Path

import pytest

from explorer.private_file import PrivateFile
from tests.commands import PRODUCTION

pytestmark = pytest.mark.no_database

BASE = {
    "DEBUG": False,
    "SITE_URL": "https://proofs.example.org",
    "ALLOWED_HOSTS": ["proofs.example.org"],
    "BEHIND_PROXY": False,
    "SECURE_SSL_REDIRECT": True,
    "SECURE_HSTS_SECONDS": 31_536_000,
    "SECURE_HSTS_INCLUDE_SUBDOMAINS": True,
    "SECURE_HSTS_PRELOAD": True,
    "SECURE_CONTENT_TYPE_NOSNIFF": True,
    "SECURE_REFERRER_POLICY": "same-origin",
    "SECURE_CROSS_ORIGIN_OPENER_POLICY": "same-origin",
    "SESSION_COOKIE_SECURE": True,
    "SESSION_COOKIE_HTTPONLY": True,
    "SESSION_COOKIE_SAMESITE": "Lax",
    "CSRF_COOKIE_SECURE": True,
    "CSRF_COOKIE_HTTPONLY": True,
    "CSRF_COOKIE_SAMESITE": "Lax",
    "SESSION_COOKIE_NAME": "__Host-session",
    "CSRF_COOKIE_NAME": "__Host-visit",
    "MESSAGE_STORAGE": "explorer.message_cookie.Messages",
    "MESSAGE_COOKIE_NAME": "__Host-messages",
    "SIGN_IN_ORIGINS": ["https://proofs.example.org"],
    "OPERATORS": [],
    "REQUESTS_PER_MINUTE": 600,
    "FACTS_PER_DAY": 1_000_000,
    "BATCH_BODY_BYTES": 1_048_576,
    "BATCH_BLOCKS": 100,
    "BATCH_ACCOUNTS": 1_000,
    "BATCH_SLOTS": 5_000,
    "API_CORS": True,
    "DATA_UPLOAD_MAX_MEMORY_SIZE": 2_621_440,
    "WEBHOOKS_TO_PRIVATE": False,
    "PROVER_ENGINE": "EMBEDDED",
    "CELERY_BROKER": "",
    "PROVER_LEASE_SECONDS": 60,
    "SECRET_KEY_FALLBACKS": [],
    "X_FRAME_OPTIONS": "DENY",
    "USE_TZ": True,
    "ROUTES_FILE": None,
    "SIGNER_KEY": "",
    "SIGNER_KEYSTORE": "",
    "SIGNER_PASSWORD": "",
    "ATTESTER_KEY": "",
    "WHITENOISE_USE_FINDERS": False,
    "WHITENOISE_AUTOREFRESH": False,
    "database OPTIONS": {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        "factory": PrivateFile,
    },
    "database CONN_MAX_AGE": 5,
    "level of root": "INFO",
    "level of django": "NOTSET",
    "level of django.request": "ERROR",
    "level of django.security.DisallowedHost": "CRITICAL",
    "level of django.server": "CRITICAL",
    "level of django.db.backends": "INFO",
    "level of django.template": "INFO",
    "level of urllib3": "ERROR",
    "form of lines": "explorer.logs.JsonLines",
    "static files": "whitenoise.storage.CompressedManifestStaticFilesStorage",
}
WALLET = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"
MACHINE = ["127.0.0.1", "localhost", "[::1]"]
CHANGES: list[tuple[dict[str, str], dict[str, object]]] = [
    (
        {"BEHIND_PROXY": "1"},
        {"BEHIND_PROXY": True, "SECURE_PROXY_SSL_HEADER": ("HTTP_X_FORWARDED_PROTO", "https")},
    ),
    ({"HSTS_SECONDS": "60"}, {"SECURE_HSTS_SECONDS": 60}),
    (
        {"HSTS_SECONDS": "0"},
        {"SECURE_HSTS_SECONDS": 0, "SILENCED_SYSTEM_CHECKS": ["security.W004"]},
    ),
    (
        {"HSTS_SUBDOMAINS": "0"},
        {
            "SECURE_HSTS_INCLUDE_SUBDOMAINS": False,
            "SECURE_HSTS_PRELOAD": False,
            "SILENCED_SYSTEM_CHECKS": ["security.W005", "security.W021"],
        },
    ),
    (
        {"EXTRA_HOSTS": "a.example,b.example"},
        {
            "EXTRA_HOSTS": ["a.example", "b.example"],
            "ALLOWED_HOSTS": ["proofs.example.org", "a.example", "b.example"],
            "SIGN_IN_ORIGINS": [
                "https://proofs.example.org",
                "https://a.example",
                "https://b.example",
            ],
        },
    ),
    (
        {"SITE_URL": "https://proofs.example.org:8443", "EXTRA_HOSTS": "a.example"},
        {
            "SITE_URL": "https://proofs.example.org:8443",
            "EXTRA_HOSTS": ["a.example"],
            "ALLOWED_HOSTS": ["proofs.example.org", "a.example"],
            "SIGN_IN_ORIGINS": ["https://proofs.example.org:8443", "https://a.example:8443"],
        },
    ),
    ({"FORMER_SECRET_KEYS": "one two"}, {"SECRET_KEY_FALLBACKS": ["one", "two"]}),
    ({"OPERATORS": f"{WALLET}, 1:{WALLET}"}, {"OPERATORS": [WALLET, f"1:{WALLET}"]}),
    ({"REQUESTS_PER_MINUTE": "5"}, {"REQUESTS_PER_MINUTE": 5}),
    ({"BATCH_BODY_BYTES": "1000"}, {"BATCH_BODY_BYTES": 1_000}),
    (
        {"BATCH_BODY_BYTES": "5000000"},
        {"BATCH_BODY_BYTES": 5_000_000, "DATA_UPLOAD_MAX_MEMORY_SIZE": 5_000_000},
    ),
    ({"BATCH_BLOCKS": "1"}, {"BATCH_BLOCKS": 1}),
    ({"BATCH_ACCOUNTS": "2"}, {"BATCH_ACCOUNTS": 2}),
    ({"BATCH_SLOTS": "3"}, {"BATCH_SLOTS": 3}),
    ({"API_CORS": "0"}, {"API_CORS": False}),
    ({"PROVER_LEASE_SECONDS": "9"}, {"PROVER_LEASE_SECONDS": 9}),
    (
        {"PROVER_ENGINE": "celery", "CELERY_BROKER": "redis://h"},
        {"PROVER_ENGINE": "CELERY", "CELERY_BROKER": "redis://h"},
    ),
    ({"ATTESTER_KEY": "0x1"}, {"ATTESTER_KEY": "0x1"}),
    ({"WEBHOOKS_TO_PRIVATE": "1"}, {"WEBHOOKS_TO_PRIVATE": True}),
    ({"LOG_LEVEL": "debug"}, {"LOG_LEVEL": "DEBUG", "level of root": "DEBUG"}),
    ({"ROUTES_FILE": "/routes.toml"}, {"ROUTES_FILE": Path("/routes.toml")}),
    ({"SIGNER_KEY": "0x11"}, {"SIGNER_KEY": "0x11"}),
    (
        {"SIGNER_KEYSTORE": "{}", "SIGNER_PASSWORD": "pass word"},
        {"SIGNER_KEYSTORE": "{}", "SIGNER_PASSWORD": "pass word"},
    ),
    ({"STATIC_ROOT": "/static"}, {"STATIC_ROOT": Path("/static")}),
    (
        {"DATABASE_URL": "postgres://u@h/n"},
        {
            "database ENGINE": "django.db.backends.postgresql",
            "database NAME": "n",
            "database USER": "u",
            "database HOST": "h",
            "database OPTIONS": {"connect_timeout": 5},
            "database CONN_MAX_AGE": 60,
            "database CONN_HEALTH_CHECKS": True,
        },
    ),
    (
        {"DEVELOPMENT": "1", "DEBUG": "1"},
        {
            "DEVELOPMENT": True,
            "DEBUG": True,
            "ALLOWED_HOSTS": ["proofs.example.org", *MACHINE],
            "SECURE_SSL_REDIRECT": False,
            "SECURE_HSTS_SECONDS": 0,
            "SESSION_COOKIE_SECURE": False,
            "CSRF_COOKIE_SECURE": False,
            "SESSION_COOKIE_NAME": "session",
            "CSRF_COOKIE_NAME": "visit",
            "MESSAGE_COOKIE_NAME": "messages",
            "WHITENOISE_USE_FINDERS": True,
            "WHITENOISE_AUTOREFRESH": True,
            "form of lines": "explorer.logs.ReadableLines",
            "static files": "django.contrib.staticfiles.storage.StaticFilesStorage",
        },
    ),
]


def _resolved(
    monkeypatch: pytest.MonkeyPatch, repository: Path, variables: dict[str, str]
) -> dict[str, object]:
    """All that settings.py comes to in this environment, with its groups taken apart."""
    monkeypatch.setattr(os, "environ", variables)
    read = runpy.run_path(str(repository / "explorer" / "settings.py"))
    found = {name: value for name, value in read.items() if name.isupper()}
    database, logging = found.pop("DATABASES")["default"], found.pop("LOGGING")
    loggers = {"root": logging["root"], **logging["loggers"]}
    return {
        **found,
        **{f"database {name}": value for name, value in database.items()},
        **{f"level of {name}": held["level"] for name, held in loggers.items() if "level" in held},
        "form of lines": logging["formatters"]["lines"]["()"],
        "static files": found.pop("STORAGES")["staticfiles"]["BACKEND"],
    }


def test_without_a_word_they_are_safe(monkeypatch: pytest.MonkeyPatch, repository: Path) -> None:
    resolved = _resolved(monkeypatch, repository, PRODUCTION)
    assert {name: resolved[name] for name in BASE} == BASE
    assert "SECURE_PROXY_SSL_HEADER" not in resolved
    assert {name for name in resolved if name.startswith("level of ")} <= set(BASE)


@pytest.mark.parametrize(("variables", "changes"), CHANGES)
def test_each_variable_changes_what_it_should_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
    repository: Path,
    variables: dict[str, str],
    changes: dict[str, object],
) -> None:
    base = _resolved(monkeypatch, repository, PRODUCTION)
    resolved = _resolved(monkeypatch, repository, PRODUCTION | variables)
    changed = {name for name, value in resolved.items() if base.get(name) != value}
    assert changed - {"STORAGES", "database PASSWORD", "database PORT"} == set(changes)
    assert {name: resolved[name] for name in changes} == changes
