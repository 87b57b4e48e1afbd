"""All settings of Tacitus; only this package reads the environment.

Safe by default: without variables this is production, and an error names the first setting that
production lacks. A test compares this file with explorer/docs/configuration.md.
"""

import os
from pathlib import Path

from csp.constants import NONE, SELF
from django.core.checks.security.base import (
    SECRET_KEY_INSECURE_PREFIX,
    SECRET_KEY_MIN_LENGTH,
    SECRET_KEY_MIN_UNIQUE_CHARACTERS,
)
from django.core.exceptions import ImproperlyConfigured

from explorer import __version__
from explorer.settings.database import database
from explorer.settings.environment import Environment, is_broker

BASE_DIR = Path(__file__).resolve().parent.parent.parent
VERSION = __version__

env = Environment(os.environ)
MIN_TOKEN_LENGTH = 20  # characters

# Development or production

DEVELOPMENT = env.flag("DEVELOPMENT")
DEBUG = env.flag("DEBUG")
if DEBUG and not DEVELOPMENT:
    raise ImproperlyConfigured(
        "DEBUG shows settings and code to every visitor. Unset it, or set DEVELOPMENT=1 as well."
    )

SECRET_KEY = env.secret(
    "SECRET_KEY", default="django-insecure-for-development-alone" if DEVELOPMENT else ""
)
key_hint = "python -c 'import secrets; print(secrets.token_urlsafe(64))' makes a good one."
if not SECRET_KEY:
    raise ImproperlyConfigured(
        "SECRET_KEY is not set. Set SECRET_KEY, or SECRET_KEY_FILE to a file that holds it; "
        f"{key_hint} On your own machine, DEVELOPMENT=1 needs none."
    )
# `check --deploy` only warns of these.
if not DEVELOPMENT and (
    SECRET_KEY.startswith(SECRET_KEY_INSECURE_PREFIX)
    or len(SECRET_KEY) < SECRET_KEY_MIN_LENGTH
    or len(set(SECRET_KEY)) < SECRET_KEY_MIN_UNIQUE_CHARACTERS
):
    raise ImproperlyConfigured(
        f"SECRET_KEY can be guessed. Use at least {SECRET_KEY_MIN_LENGTH} random characters; "
        f"{key_hint}"
    )

# Former keys: signatures made with them stay valid, and API keys made with them can be shown.
SECRET_KEY_FALLBACKS = env.secret("FORMER_SECRET_KEYS").split()

SITE_URL, SITE_HOST = env.origin(
    "SITE_URL", default="http://127.0.0.1:8000" if DEVELOPMENT else "", https=not DEVELOPMENT
)
# A guessed URL is replaced by the request's; see accounts/http/site_address.py.
SITE_URL_IS_GUESSED = not env.text("SITE_URL")
BEHIND_PROXY = env.flag("BEHIND_PROXY")

# A request for another host is refused, so that no link or redirect can lead to one.
EXTRA_HOSTS = env.hosts("EXTRA_HOSTS")
ALLOWED_HOSTS = [SITE_HOST, *EXTRA_HOSTS]
if DEVELOPMENT:
    ALLOWED_HOSTS += ["127.0.0.1", "localhost", "[::1]"]

# Django

ROOT_URLCONF = "explorer.urls"
WSGI_APPLICATION = "explorer.http.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "accounts.apps.OperatorsAdminConfig",
    "django_htmx",
    "csp",
    "explorer",
    "accounts",
    "queries",
]

MIDDLEWARE = [
    # First, so that every response has an id and a line in the log.
    "explorer.http.middleware.RequestLog",
    # Outside of all middleware that responds, so that those responses have the headers too.
    "explorer.http.middleware.ResponseHeaders",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    # Outside of all middleware that responds with an error page, which it turns into JSON.
    "explorer.http.middleware.JsonErrors",
    # Before the host check and the redirect to https: probes come by IP address, over http.
    "explorer.http.probes.Probes",
    # Outside of the host check, so that its error page has the policy too.
    "csp.middleware.CSPMiddleware",
    "django.middleware.security.SecurityMiddleware",
    # Before any middleware that reads the body.
    "explorer.http.middleware.FormSizeLimit",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    # Inside of WhiteNoise, whose files are compressed already. BREACH does not apply: responses are
    # padded at random, CSRF tokens are masked, and other sites' requests carry no session (Lax).
    "django.middleware.gzip.GZipMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "accounts.sign_in.sessions.SessionActivity",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    # Inside of the session, because its page shows the account.
    "explorer.http.middleware.MethodNotAllowedPage",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "explorer" / "templates"],  # before those of Django's apps
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "explorer.pages.links.page_links",
            ],
            "builtins": ["explorer.templatetags.tacitus"],
        },
    }
]

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = False
FORMAT_MODULE_PATH = "explorer.formats"

# The data folder and the database

# Where Tacitus writes, as long as no other setting names another place.
DATA_DIR = Path(env.text("DATA_DIR") or "var").absolute()
DATABASES = {"default": database(env.secret("DATABASE_URL"), DATA_DIR / "tacitus.sqlite3")}

# Accounts, sign-in and limits

AUTH_USER_MODEL = "accounts.Account"
SESSION_ENGINE = "accounts.sign_in.sessions"
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "dashboard"
AUTH_PASSWORD_VALIDATORS = [  # for operators with a password (createsuperuser)
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in (
        ("MinimumLengthValidator", {"min_length": 12}),
        ("CommonPasswordValidator", {}),
        ("NumericPasswordValidator", {}),
    )
]
# The origins that a sign-in message may name.
SIGN_IN_ORIGINS = [
    SITE_URL.replace(f"//{SITE_HOST}", f"//{host}", 1) for host in (SITE_HOST, *EXTRA_HOSTS)
]
OPERATORS = env.wallets("OPERATORS")
# Only for the demo: signs in any browser on this machine as the node's first account.
DEMO_WALLET_NODE = env.local_node("DEMO_WALLET_NODE", is_allowed=DEVELOPMENT)
REQUESTS_PER_MINUTE = env.number("REQUESTS_PER_MINUTE", 600, minimum=1)
FACTS_PER_DAY = env.number("FACTS_PER_DAY", 1_000_000, minimum=1)
FEEDS_PER_ACCOUNT = env.number("FEEDS_PER_ACCOUNT", 20, minimum=0)
FEED_SECONDS = env.number("FEED_SECONDS", 60, minimum=1)

# The API's limits

BATCH_BODY_BYTES = env.number("BATCH_BODY_BYTES", 1_048_576, minimum=1, maximum=8 * 2**20)
BATCH_BLOCKS = env.number("BATCH_BLOCKS", 100, minimum=1)
BATCH_ACCOUNTS = env.number("BATCH_ACCOUNTS", 1_000, minimum=1)
BATCH_SLOTS = env.number("BATCH_SLOTS", 5_000, minimum=1)
BATCH_EVENTS = env.number("BATCH_EVENTS", 1_000, minimum=1)
API_CORS = env.flag("API_CORS", default=True)
# Django's limit on all bodies must not be below that of batches.
DATA_UPLOAD_MAX_MEMORY_SIZE = max(2_621_440, BATCH_BODY_BYTES)

# Provers and chains; queries/sources/routes.py reads ROUTES_FILE.

PROVER_ENGINE = env.choice("PROVER_ENGINE", "EMBEDDED", ("EMBEDDED", "CELERY"))
CELERY_BROKER = env.secret("CELERY_BROKER")
broker_hint = "Set it to an address such as amqp://user:password@host// or redis://host:6379/0."
if PROVER_ENGINE == "CELERY" and not CELERY_BROKER:
    raise ImproperlyConfigured(
        f"PROVER_ENGINE is CELERY, but CELERY_BROKER is not set. {broker_hint}"
    )
if CELERY_BROKER and not is_broker(CELERY_BROKER):
    raise ImproperlyConfigured(f"CELERY_BROKER is not a broker's address. {broker_hint}")
PROVER_LEASE_SECONDS = env.number("PROVER_LEASE_SECONDS", 60, minimum=1)
ALLOW_PRIVATE_WEBHOOKS = env.flag("ALLOW_PRIVATE_WEBHOOKS")
ROUTES_FILE = Path(routes_file) if (routes_file := env.text("ROUTES_FILE")) else None

# Keys that sign transactions and attestations; queries/chain/signer.py reads them. Django's error
# reports mask settings with KEY or PASS in their names.

SIGNER_KEY = env.secret("SIGNER_KEY")
SIGNER_KEYSTORE = env.secret("SIGNER_KEYSTORE")
SIGNER_PASSWORD = env.secret("SIGNER_PASSWORD")
ATTESTER_KEY = env.secret("ATTESTER_KEY")

# Static files have hashed names, so that browsers cache them for ever, and are compressed. In
# development they are served from their source folder.

STATIC_URL = "/static/"
STATIC_ROOT = Path(env.text("STATIC_ROOT") or DATA_DIR / "static")
WHITENOISE_USE_FINDERS = WHITENOISE_AUTOREFRESH = DEVELOPMENT
STORAGES = {
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEVELOPMENT
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    }
}

# Security of pages and cookies, besides Django's defaults

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
CSRF_FAILURE_VIEW = "explorer.pages.errors.csrf_failure"

SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not DEVELOPMENT
CSRF_COOKIE_HTTPONLY = True
# Browsers accept a cookie with this prefix only from this host itself, over https.
SESSION_COOKIE_NAME = "session" if DEVELOPMENT else "__Host-session"
CSRF_COOKIE_NAME = "visit" if DEVELOPMENT else "__Host-visit"
MESSAGE_STORAGE = "explorer.http.middleware.MessageCookie"
MESSAGE_COOKIE_NAME = "messages" if DEVELOPMENT else "__Host-messages"
SECURE_HSTS_SECONDS = 0 if DEVELOPMENT else env.number("HSTS_SECONDS", 31_536_000)
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = env.flag("HSTS_SUBDOMAINS", default=True)
# `check --deploy` must not warn of HSTS that an operator turned off on purpose.
SILENCED_SYSTEM_CHECKS = []
if not DEVELOPMENT and not SECURE_HSTS_SECONDS:
    SILENCED_SYSTEM_CHECKS += ["security.W004"]
if not DEVELOPMENT and not SECURE_HSTS_INCLUDE_SUBDOMAINS:
    SILENCED_SYSTEM_CHECKS += ["security.W005", "security.W021"]
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# Lets other machines read /metrics; see explorer/http/probes.py.

METRICS_TOKEN = env.secret("METRICS_TOKEN")
if METRICS_TOKEN and len(METRICS_TOKEN) < MIN_TOKEN_LENGTH:
    raise ImproperlyConfigured(
        f"METRICS_TOKEN can be guessed. Use at least {MIN_TOKEN_LENGTH} random characters; "
        f"{key_hint}"
    )

# What this server says about itself; see explorer/pages/site_files.py and explorer/pages/status.py.

SOURCE_URL = env.link("SOURCE_URL", ("https", "http"))
SECURITY_CONTACT = env.link("SECURITY_CONTACT", ("mailto", "https", "tel"))
STATUS_PAGE = env.choice("STATUS_PAGE", "PUBLIC", ("PUBLIC", "FULL"))

# Logs: JSON lines, or readable lines in development; see explorer/http/logs.py.

LOG_LEVEL = env.choice("LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"))
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "lines": {
            "()": "explorer.http.logs.ReadableLines"
            if DEVELOPMENT
            else "explorer.http.logs.JsonLines"
        }
    },
    "filters": {
        "repetitions": {
            "()": "explorer.http.logs.RepetitionFilter",
            "loggers": ["tacitus.prover", "tacitus.chain"],
        }
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": "lines",
            "filters": ["repetitions"],
        }
    },
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        # Django's own handlers are removed; all lines go through ours.
        "django": {"handlers": [], "level": "NOTSET", "propagate": True},
        # Our request log has these requests, and the error page logs exceptions; not with DEBUG.
        "django.request": {"level": "ERROR" if DEBUG else "CRITICAL"},
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        "django.server": {"handlers": [], "level": "CRITICAL", "propagate": True},
        # DEBUG lines contain the values of queries and pages.
        "django.db.backends": {"level": "INFO"},
        "django.template": {"level": "INFO"},
        # Lines for every message.
        "celery.app.trace": {"level": "WARNING"},
        "celery.beat": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        # Warnings about malformed headers contain a node's address, which may hold a key.
        "urllib3": {"level": "ERROR"},
    },
}
