"""Every setting of Tacitus, and the only reader of the environment.

Safe by default: without a word from the operator this is production, and what production
needs and does not have is said in a sentence instead of guessed. The README's table of
settings is compared with this file by a test.
"""

import os
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from explorer.environment import Environment

BASE_DIR = Path(__file__).resolve().parent.parent
VERSION: str = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["project"]["version"]

env = Environment(os.environ)

# What kind of place this is

DEVELOPMENT = env.flag("DEVELOPMENT")
DEBUG = env.flag("DEBUG")
if DEBUG and not DEVELOPMENT:
    raise ImproperlyConfigured(
        "DEBUG shows settings and code to every visitor. Unset it, or set DEVELOPMENT=1 as well."
    )

SECRET_KEY = env.secret(
    "SECRET_KEY", default="django-insecure-for-development-alone" if DEVELOPMENT else ""
)
if not SECRET_KEY:
    raise ImproperlyConfigured(
        "SECRET_KEY is not set. Set SECRET_KEY, or SECRET_KEY_FILE to a file that holds it; "
        "python -c 'import secrets; print(secrets.token_urlsafe(64))' makes a good one. "
        "On your own machine, DEVELOPMENT=1 needs none."
    )

SITE_URL, SITE_HOST = env.origin(
    "SITE_URL", default="http://127.0.0.1:8000" if DEVELOPMENT else "", https=not DEVELOPMENT
)
BEHIND_PROXY = env.flag("BEHIND_PROXY")

# In development the host is this machine and nothing else, so the weak default key stays here.
ALLOWED_HOSTS = [SITE_HOST, *env.names("EXTRA_HOSTS")]
if DEVELOPMENT:
    ALLOWED_HOSTS += ["127.0.0.1", "localhost", "[::1]"]

# The house

ROOT_URLCONF = "explorer.urls"
WSGI_APPLICATION = "explorer.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.staticfiles",
    "django_htmx",
    "csp",
    "explorer",
    "accounts",
    "queries",
]

MIDDLEWARE = [
    # First, so that every answer, a refusal too, has an id and a line in the log.
    "explorer.request_log.RequestLog",
    # Before the host check and the redirect to https: a probe comes by address, over http.
    "explorer.health.HealthChecks",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": ["explorer.page_frame.page_frame"]},
    }
]

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

# The database

VAR_DIR = BASE_DIR / "var"
DATABASE_URL = env.secret("DATABASE_URL")
if not DATABASE_URL:
    VAR_DIR.mkdir(exist_ok=True)
    DATABASE_URL = f"sqlite:///{VAR_DIR}/tacitus.sqlite3"


def _database(url: str) -> dict[str, Any]:
    database: dict[str, Any] = {}
    # Leases and guarded updates are built for, and tested on, these two engines.
    if url.split("://", maxsplit=1)[0] in {"sqlite", "postgres", "postgresql"}:
        with suppress(ImproperlyConfigured, ValueError):
            database = environ.Env.db_url_config(url)
    if database.get("NAME") in {None, "", ":memory:"}:
        # The address itself is not repeated: it holds a password.
        raise ImproperlyConfigured(
            "DATABASE_URL cannot be read. Set it to postgres://user:password@host/name or "
            "sqlite:////folder/file.sqlite3; Tacitus runs on these two."
        )
    engine = database["ENGINE"]
    options = database.setdefault("OPTIONS", {})
    if engine == "django.db.backends.sqlite3":
        # WAL lets readers go on while one writes. IMMEDIATE takes the write lock at BEGIN, where
        # the timeout applies; a lock taken in the middle of a transaction fails at once instead.
        options |= {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL;",
        }
    elif engine == "django.db.backends.postgresql":
        options.setdefault("connect_timeout", 5)
        database |= {"CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}
    return database


DATABASES = {"default": _database(DATABASE_URL)}

# Static files: hashed names and compressed, so that a browser keeps them for ever. In
# development they are served from where they are written, without collecting.

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = Path(env.text("STATIC_ROOT") or VAR_DIR / "static")
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = DEVELOPMENT
STORAGES = {
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEVELOPMENT
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    }
}

# What a browser may do with our pages

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],  # wallets announce their icons as data: addresses
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"

SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not DEVELOPMENT
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_HSTS_SECONDS = 0 if DEVELOPMENT else env.number("HSTS_SECONDS", 31_536_000)
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = env.flag("HSTS_SUBDOMAINS", default=True)
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# Logs: one JSON object a line for machines, a readable line in development; see logs.py.

LOG_LEVEL = env.choice("LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"))
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "lines": {
            "()": "explorer.logs.ReadableLines" if DEVELOPMENT else "explorer.logs.JsonLines"
        },
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        # Django and Granian bring handlers of their own; all lines go through ours.
        "django": {"handlers": [], "level": "NOTSET", "propagate": True},
        "django.server": {"handlers": [], "level": "WARNING", "propagate": True},
        "django.request": {"level": "ERROR"},  # 4xx are in our request log, once
        "django.security.DisallowedHost": {"level": "CRITICAL"},  # likewise
        "django.db.backends": {"level": "INFO"},  # SQL holds values; no level shows them
        "_granian": {"handlers": [], "propagate": True},
    },
}
