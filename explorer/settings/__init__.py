"""Every setting of Tacitus, and the only reader of the environment.

Safe by default: with nothing set this is production, and a sentence names what production needs
and does not have. A test compares this file with
explorer/docs/configuration.md.
"""

import os
import tomllib
from pathlib import Path

from csp.constants import NONE, SELF
from django.core.checks.security.base import (
    SECRET_KEY_INSECURE_PREFIX,
    SECRET_KEY_MIN_LENGTH,
    SECRET_KEY_MIN_UNIQUE_CHARACTERS,
)
from django.core.exceptions import ImproperlyConfigured

from explorer.settings.database import database
from explorer.settings.environment import Environment, is_broker

BASE_DIR = Path(__file__).resolve().parent.parent.parent
VERSION: str = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["project"]["version"]

env = Environment(os.environ)
LEAST_OF_A_TOKEN = 20  # characters

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
make_a_key = "python -c 'import secrets; print(secrets.token_urlsafe(64))' makes a good one."
if not SECRET_KEY:
    raise ImproperlyConfigured(
        "SECRET_KEY is not set. Set SECRET_KEY, or SECRET_KEY_FILE to a file that holds it; "
        f"{make_a_key} On your own machine, DEVELOPMENT=1 needs none."
    )
# What Django's deployment check only warns of, to those who run it.
if not DEVELOPMENT and (
    SECRET_KEY.startswith(SECRET_KEY_INSECURE_PREFIX)
    or len(SECRET_KEY) < SECRET_KEY_MIN_LENGTH
    or len(set(SECRET_KEY)) < SECRET_KEY_MIN_UNIQUE_CHARACTERS
):
    raise ImproperlyConfigured(
        f"SECRET_KEY can be guessed. Take at least {SECRET_KEY_MIN_LENGTH} random characters; "
        f"{make_a_key}"
    )

# Former keys: what they signed stays valid, and API keys made with them can be shown.
SECRET_KEY_FALLBACKS = env.secret("FORMER_SECRET_KEYS").split()

SITE_URL, SITE_HOST = env.origin(
    "SITE_URL", default="http://127.0.0.1:8000" if DEVELOPMENT else "", https=not DEVELOPMENT
)
# If it is guessed, answers use the address of the request; see accounts/shared/site_address.py.
SITE_URL_IS_GUESSED = not env.text("SITE_URL")
BEHIND_PROXY = env.flag("BEHIND_PROXY")

# A request for any other host is refused, so no link or redirect can name a stranger's. In
# development this machine's own names are added, whatever SITE_URL says.
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
    # First, so that every answer, a refusal too, has an id and a line in the log.
    "explorer.http.middleware.RequestLog",
    # These two outside of all that answers, so that a probe's answer and a refusal have them too.
    "explorer.http.middleware.AnswerHeaders",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    # Outside of all that answers with a page of its own, where a program gets JSON instead.
    "explorer.http.middleware.ApiAnswers",
    # Before the host check and the redirect to https: probes come by address, over http.
    "explorer.http.health.HealthChecks",
    "explorer.http.metrics.Metrics",
    # Outside of the host check, so that the page of a refusal has the policy too.
    "csp.middleware.CSPMiddleware",
    "django.middleware.security.SecurityMiddleware",
    # Before anything reads a body: a form is read whole before its sender is known.
    "explorer.http.middleware.RequestBodies",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "accounts.sign_in.sessions.SeenSessions",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    # Inside of the session, because the head of the page names the account.
    "explorer.http.middleware.MethodPage",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": ["explorer.templatetags.tacitus"],
        },
    }
]

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False
FORMAT_MODULE_PATH = "explorer.formats"

# The database

VAR_DIR = BASE_DIR / "var"
DATABASES = {"default": database(env.secret("DATABASE_URL"), VAR_DIR / "tacitus.sqlite3")}

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
# The origins that a sign-in message may name; a page at another origin is not ours.
scheme, _, place = SITE_URL.partition("://")
port = place.removeprefix(SITE_HOST)
SIGN_IN_ORIGINS = [f"{scheme}://{host}{port}" for host in (SITE_HOST, *EXTRA_HOSTS)]
OPERATORS = env.wallets("OPERATORS")
# In the demo alone: signs in any browser on this machine as the node's first account.
DEMO_WALLET_NODE = env.local_node("DEMO_WALLET_NODE", allowed=DEVELOPMENT)
REQUESTS_PER_MINUTE = env.number("REQUESTS_PER_MINUTE", 600, least=1)
FACTS_PER_DAY = env.number("FACTS_PER_DAY", 1_000_000, least=1)

# What the API takes, and from where. A batch is counted while it is read.

BATCH_BODY_BYTES = env.number("BATCH_BODY_BYTES", 1_048_576, least=1, most=8 * 2**20)
BATCH_BLOCKS = env.number("BATCH_BLOCKS", 100, least=1)
BATCH_ACCOUNTS = env.number("BATCH_ACCOUNTS", 1_000, least=1)
BATCH_SLOTS = env.number("BATCH_SLOTS", 5_000, least=1)
API_CORS = env.flag("API_CORS", default=True)
# Django's own bound holds for whatever else is sent here, and must not be below ours.
DATA_UPLOAD_MAX_MEMORY_SIZE = max(2_621_440, BATCH_BODY_BYTES)

# The chains, and the nodes that know them; queries/config/routes.py reads the file.

PROVER_ENGINE = env.choice("PROVER_ENGINE", "EMBEDDED", ("EMBEDDED", "CELERY"))
CELERY_BROKER = env.secret("CELERY_BROKER")
name_a_broker = "Set it to an address such as amqp://user:password@host// or redis://host:6379/0."
if PROVER_ENGINE == "CELERY" and not CELERY_BROKER:
    raise ImproperlyConfigured(
        f"PROVER_ENGINE is CELERY, but CELERY_BROKER is not set. {name_a_broker}"
    )
if CELERY_BROKER and not is_broker(CELERY_BROKER):
    raise ImproperlyConfigured(f"CELERY_BROKER is not a broker's address. {name_a_broker}")
PROVER_LEASE_SECONDS = env.number("PROVER_LEASE_SECONDS", 60, least=1)
WEBHOOKS_TO_PRIVATE = env.flag("WEBHOOKS_TO_PRIVATE")
ROUTES_FILE = Path(routes_file) if (routes_file := env.text("ROUTES_FILE")) else None

# Keys that sign transactions and attestations; queries/chain/signer.py reads them. Django masks
# settings with KEY or PASS in their names.

SIGNER_KEY = env.secret("SIGNER_KEY")
SIGNER_KEYSTORE = env.secret("SIGNER_KEYSTORE")
SIGNER_PASSWORD = env.secret("SIGNER_PASSWORD")
ATTESTER_KEY = env.secret("ATTESTER_KEY")

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
CSRF_FAILURE_VIEW = "explorer.pages.errors.untrusted_form"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"

SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not DEVELOPMENT
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
# The prefix has a browser refuse the cookie from anyone but this host itself, over https.
SESSION_COOKIE_NAME = "session" if DEVELOPMENT else "__Host-session"
CSRF_COOKIE_NAME = "visit" if DEVELOPMENT else "__Host-visit"
MESSAGE_STORAGE = "explorer.http.middleware.MessageCookie"
MESSAGE_COOKIE_NAME = "messages" if DEVELOPMENT else "__Host-messages"
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_HSTS_SECONDS = 0 if DEVELOPMENT else env.number("HSTS_SECONDS", 31_536_000)
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = env.flag("HSTS_SUBDOMAINS", default=True)
# `check --deploy` does not warn of what these two leave out on purpose; it counts it as silenced.
SILENCED_SYSTEM_CHECKS = []
if not DEVELOPMENT and not SECURE_HSTS_SECONDS:
    SILENCED_SYSTEM_CHECKS += ["security.W004"]
if not DEVELOPMENT and not SECURE_HSTS_INCLUDE_SUBDOMAINS:
    SILENCED_SYSTEM_CHECKS += ["security.W005", "security.W021"]
if BEHIND_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

# Who may read /metrics from elsewhere than this machine; see metrics.py.

METRICS_TOKEN = env.secret("METRICS_TOKEN")
if METRICS_TOKEN and len(METRICS_TOKEN) < LEAST_OF_A_TOKEN:
    raise ImproperlyConfigured(
        f"METRICS_TOKEN can be guessed. Take at least {LEAST_OF_A_TOKEN} random characters; "
        f"{make_a_key}"
    )

# Logs: one JSON object a line for machines, a readable line in development; see logs.py.

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
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        # Django brings handlers of its own; all lines go through ours.
        "django": {"handlers": [], "level": "NOTSET", "propagate": True},
        "django.request": {"level": "ERROR"},  # 4xx are in our request log, once
        "django.security.DisallowedHost": {"level": "CRITICAL"},  # likewise
        "django.server": {"handlers": [], "level": "CRITICAL", "propagate": True},  # likewise
        "django.db.backends": {"level": "INFO"},  # SQL holds values; no level shows them
        "django.template": {"level": "INFO"},  # likewise what a page shows, and to whom
        # A node's address holds the operator's key; a warning of a node's broken headers shows it.
        "urllib3": {"level": "ERROR"},
    },
}
