"""What production settings come to, and what each variable changes in them."""

import json

import pytest

from tests.commands import PRODUCTION, Manage

pytestmark = pytest.mark.no_database

PRINT = """
import json
from django.conf import settings
from django.db import connection
names = json.loads({names!r})
shown = {{name: getattr(settings, name) for name in names if hasattr(settings, name)}}
database = connection.settings_dict
shown["OPTIONS"] = database["OPTIONS"]
shown["CONNECTION"] = [database["CONN_MAX_AGE"], database["CONN_HEALTH_CHECKS"]]
shown["LEVEL"] = settings.LOGGING["root"]["level"]
shown["SQL"] = settings.LOGGING["loggers"]["django.db.backends"]["level"]
shown["FORM"] = settings.LOGGING["formatters"]["lines"]["()"]
shown["FILES"] = settings.STORAGES["staticfiles"]["BACKEND"]
print(json.dumps(shown))
"""
BASE = {
    "DEBUG": False,
    "SITE_URL": "https://proofs.example.org",
    "ALLOWED_HOSTS": ["proofs.example.org"],
    "BEHIND_PROXY": False,
    "SECURE_PROXY_SSL_HEADER": None,
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
    "X_FRAME_OPTIONS": "DENY",
    "USE_TZ": True,
    "WHITENOISE_USE_FINDERS": False,
    "WHITENOISE_AUTOREFRESH": False,
    "OPTIONS": {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL;",
    },
    "CONNECTION": [0, False],
    "LEVEL": "INFO",
    "SQL": "INFO",
    "FORM": "explorer.logs.JsonLines",
    "FILES": "whitenoise.storage.CompressedManifestStaticFilesStorage",
}
ASKED = [name for name in BASE if name not in {"OPTIONS", "CONNECTION", "LEVEL", "SQL", "FORM"}]
MACHINE = ["127.0.0.1", "localhost", "[::1]"]
CHANGES: list[tuple[dict[str, str], dict[str, object]]] = [
    ({}, {}),
    (
        {"BEHIND_PROXY": "1"},
        {"BEHIND_PROXY": True, "SECURE_PROXY_SSL_HEADER": ["HTTP_X_FORWARDED_PROTO", "https"]},
    ),
    ({"HSTS_SECONDS": "60"}, {"SECURE_HSTS_SECONDS": 60}),
    (
        {"HSTS_SUBDOMAINS": "0"},
        {"SECURE_HSTS_INCLUDE_SUBDOMAINS": False, "SECURE_HSTS_PRELOAD": False},
    ),
    (
        {"EXTRA_HOSTS": "a.example,b.example"},
        {"ALLOWED_HOSTS": ["proofs.example.org", "a.example", "b.example"]},
    ),
    ({"LOG_LEVEL": "debug"}, {"LEVEL": "DEBUG"}),
    ({"LOG_LEVEL": "ERROR"}, {"LEVEL": "ERROR"}),
    (
        {"DATABASE_URL": "postgres://u:p@h/n"},
        {"OPTIONS": {"connect_timeout": 5}, "CONNECTION": [60, True]},
    ),
    (
        {"DEVELOPMENT": "1"},
        {
            "ALLOWED_HOSTS": ["proofs.example.org", *MACHINE],
            "SECURE_SSL_REDIRECT": False,
            "SECURE_HSTS_SECONDS": 0,
            "SESSION_COOKIE_SECURE": False,
            "CSRF_COOKIE_SECURE": False,
            "WHITENOISE_USE_FINDERS": True,
            "WHITENOISE_AUTOREFRESH": True,
            "FORM": "explorer.logs.ReadableLines",
            "FILES": "django.contrib.staticfiles.storage.StaticFilesStorage",
        },
    ),
]


@pytest.mark.parametrize(("variables", "changes"), CHANGES)
def test_each_variable_changes_what_it_should_and_nothing_else(
    manage: Manage, variables: dict[str, str], changes: dict[str, object]
) -> None:
    source = PRINT.format(names=json.dumps(ASKED))
    ended = manage("shell", "--no-imports", "--command", source, **PRODUCTION | variables)
    assert ended.stderr == ""
    assert json.loads(ended.stdout) == BASE | changes
