"""What the documentation names exists, and what exists is documented."""

import html
import re
import shlex
import sys
from pathlib import Path

import pytest
import yaml
from django.conf import settings
from django.core.checks.security.base import SECRET_KEY_MIN_LENGTH
from django.core.management import get_commands
from django.urls import Resolver404, resolve

from accounts.keys import manage
from accounts.shared import rate_limits
from accounts.sign_in import attempts, sessions
from accounts.views import MAX_BODY
from explorer.guides.advice import ADVICE
from explorer.http.middleware import LARGEST_FORM
from explorer.pages import facts
from explorer.wiring import LIMITS
from queries.api import attestations, estimates
from queries.api.batch_codes import batch_codes, rejection_codes
from queries.api.reference import codes_of_batches
from queries.client import tacitus
from queries.config.limits import Limits
from queries.config.routes import CHAIN_KEYS, KEYS_OF_KIND, REGISTRY_KEYS
from queries.config.routes_file import LONGEST_NAME
from queries.engines import celery, wake
from queries.prover import loop
from queries.proving.packing import OSAKA
from queries.schema.strict_json import MOST_DEPTH
from queries.webhooks import deliver, post
from tests.bench.__main__ import NAMES as ROWS
from tests.environment import SETTINGS_READ

pytestmark = pytest.mark.no_database
DOCUMENTS = ("README.md", "SECURITY.md", "explorer/docs/*.md", "templates/docs/*.html")
SOURCES = ("*.py", "*.sol", "*.yml", "*.html", "Makefile", "run")
PATH = re.compile(r"(?:(?:GET|POST) )?(/[a-z-]+(?:/[a-z-]+)*/?(?:\.\w+)?)(?:\?.*)?")
OF_THE_MACHINE = ("/etc", "/opt", "/srv", "/tmp", "/usr", "/var", "/run")  # noqa: S108
WITH_FILES = SETTINGS_READ | {f"{name}_FILE" for name in SETTINGS_READ}
OF_OTHER_PROGRAMS = {"request_buffers"}
RUN_BY_MAKE = {"build_contracts"}
SERVED_BY_MIDDLEWARE = {"/healthz", "/readyz", "/metrics"}


@pytest.fixture(scope="module")
def text(repository: Path) -> str:
    files = [file for pattern in DOCUMENTS for file in sorted(repository.glob(pattern))]
    return "\n".join(file.read_text() for file in files)


@pytest.fixture(scope="module")
def named(text: str) -> set[str]:
    """Everything that is marked as code within a sentence or a table."""
    marked = re.findall(r"`([^`\n]+)`|<code[^>]*>([^<\n]+)</code>", text)
    return {html.unescape(markdown or page) for markdown, page in marked}


def test_every_setting_is_documented(repository: Path, named: set[str]) -> None:
    assert SETTINGS_READ - named == set()
    guide = (repository / "explorer" / "docs" / "configuration.md").read_text()
    assert set(re.findall(r"^\| `([A-Z_]+)`", guide, re.MULTILINE)) - SETTINGS_READ == set()
    services = yaml.safe_load((repository / "compose.yaml").read_text())["services"].values()
    set_there = {name for each in services if "build" in each for name in each["environment"]}
    assert set_there - WITH_FILES == set()


def test_every_name_exists(repository: Path, named: set[str]) -> None:
    """Settings, error codes, keys of the routes file, metrics, options: all with an underscore."""
    folders = [repository / each for each in ("accounts", "explorer", "queries", "tests", ".ci")]
    files = [file for each in folders for pattern in SOURCES for file in each.rglob(pattern)]
    files = [file for file in files if "node_modules" not in file.parts]
    files += [repository / each for each in ("Makefile", "compose.yaml")]
    words = {word for file in files for word in re.findall(r"\w+", file.read_text())}
    names = {name for each in named for name in re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", each)}
    names |= {each for each in named if re.fullmatch(r"[a-z]+(?:_[a-z]+)+", each)}
    assert names - words - WITH_FILES - OF_OTHER_PROGRAMS == set()


def test_every_code_and_every_key_of_the_routes_file_is_documented(named: set[str]) -> None:
    assert set(ADVICE) <= set(rejection_codes())
    shown = codes_of_batches(ADVICE)
    assert [each.code for each in batch_codes() if f"| `{each.code}` |" not in shown] == []
    keys = CHAIN_KEYS.union(REGISTRY_KEYS, *KEYS_OF_KIND.values())
    assert keys - named == set()


def test_every_address_is_served(named: set[str]) -> None:
    paths = {match[1] for each in named if (match := PATH.fullmatch(each))}
    paths = {path for path in paths if not path.startswith(OF_THE_MACHINE)}
    assert len(paths) > 10
    for path in paths - SERVED_BY_MIDDLEWARE:
        try:
            resolve(path)
        except Resolver404:
            pytest.fail(f"nothing is at {path}")


def test_every_command_exists(repository: Path, text: str) -> None:
    commands = get_commands()
    ours = {name for name, app in commands.items() if app in {"accounts", "explorer", "queries"}}
    shown = set(re.findall(r"manage\.py ([a-z]\w+)", text))
    assert shown - set(commands) == set()
    assert {name for name in ours - RUN_BY_MAKE if name not in text} == set()
    targets = re.findall(r"^([a-z]+):.*## ", (repository / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"(?:`|^)make ([a-z]+)", text, re.MULTILINE)) - set(targets) == set()
    assert set(re.findall(r"make bench ROWS=(\w+)", text)) - set(ROWS) == set()
    lines = html.unescape(text).replace("\\\n", " ")
    for arguments in re.findall(r"python3? tacitus\.py ([^\n<`)]*)", lines):
        words = shlex.split(arguments.replace("BLOCK", "7").replace("$SLOT", "7"))
        assert "--help" in words or tacitus._parser().parse_args(words), arguments


BOUNDS, MAX_DIGITS = Limits(), sys.int_info.default_max_str_digits
FIGURES = {
    "SECURITY.md": (
        f"| {settings.REQUESTS_PER_MINUTE} a minute per key,",
        f"| {LIMITS.blocks:,} blocks, {LIMITS.accounts:,} accounts, {LIMITS.slots:,} slots |",
        f"| {LIMITS.body_bytes / 2**20:.0f} MiB, chunked or not",
        f"| {MAX_BODY // 1024} KiB for sign-in, {LARGEST_FORM:,} bytes for a form,",
        f" {attestations.MOST_BYTES:,} bytes for an attestation |",
        f"| {MOST_DEPTH} levels, numbers of at most {MAX_DIGITS:,} digits,",
        f"| {settings.FACTS_PER_DAY:,} a day per account |",
        f"| {manage.KEYS_OF_AN_ACCOUNT} per account, {manage.MAX_CHANGES_PER_HOUR} changes an hour",
        f" {attempts.ATTEMPTS_PER_BROWSER} attempts per browser,",
        f" {attempts.ATTEMPTS_PER_WALLET} per wallet",
        f" {attempts.ATTEMPTS_PER_NETWORK} per IP address",
        f" (an IPv6 /{rate_limits.IPV6_PREFIX} counts",
        f" of these {attempts.WALLET_QUERIES_PER_NETWORK} with a contract wallet;",
        f" {attempts.PASSWORDS_PER_NETWORK} per IP address with a password |",
        f"| {sessions.MAX_SESSIONS_PER_ACCOUNT} per account, {sessions.MAX_AGE.days} days |",
        f"| {estimates.A_MINUTE} a minute per account,",
        f" {estimates.ESTIMATE_SECONDS:.0f} seconds for an",
        f" {estimates.WITNESS_SECONDS:.0f} seconds for a witness |",
        f"| {facts.CHECKS} a minute per IP address |",
        f"| {attestations.A_MINUTE} requests a minute per IP address |",
        f"| {post.LOOKUP + post.WHOLE:.0f} seconds, one at a time per account,",
        f" {LIMITS.webhook_headers} headers of {LIMITS.webhook_header_bytes // 1024} KiB in all,",
        f" {deliver.REPLAYS_AN_HOUR} replays an hour |",
        f"| {BOUNDS.answer_mebibytes} MiB and {BOUNDS.request_timeout:.0f} seconds;",
        f" {BOUNDS.visitor_timeout:.0f} seconds for *Check it now* and wallets |",
    ),
    "explorer/docs/configuration.md": (
        f"poll the database every {wake.LOOKS_EVERY} seconds.",
        f"they poll every {celery.LOOKS_EVERY:.0f} seconds.",
        f"At least {SECRET_KEY_MIN_LENGTH} random characters",
        f"At least {settings.LEAST_OF_A_TOKEN} random characters",
        f"| `gas_cap` | `{OSAKA.cap}` |",
        f"| `new_slot_gas` | `{OSAKA.new_slot}` |",
        f"unique, at most {LONGEST_NAME} characters",
    ),
    "explorer/docs/running.md": (
        f"poll the database every {wake.LOOKS_EVERY} seconds.",
        f"at most {loop.WEBHOOKS_AT_ONCE + 1} database connections plus one per thread;",
        f"they poll only every {celery.LOOKS_EVERY:.0f} seconds.",
    ),
    "explorer/docs/faq.md": (f"up to {BOUNDS.blocks_ahead} blocks or an hour ahead",),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_those_of_the_code(repository: Path, name: str) -> None:
    written = " ".join((repository / name).read_text().split())
    assert [each for each in FIGURES[name] if each not in written] == []


def test_every_scenario_is_in_their_readme(repository: Path) -> None:
    folder = repository / "tests" / "scenarios"
    written = re.findall(r"^\| `(test_\w+)` \|", (folder / "README.md").read_text(), re.MULTILINE)
    code = "\n".join(file.read_text() for file in folder.glob("test_*.py"))
    assert sorted(written) == sorted(re.findall(r"^def (test_\w+)", code, re.MULTILINE))
