"""The documentation and the code agree: settings, codes, URLs, commands and figures."""

import html
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.core.checks.security.base import SECRET_KEY_MIN_LENGTH
from django.core.management import get_commands
from django.urls import Resolver404, resolve
from pydantic import TypeAdapter

from accounts.http import rate_limits
from accounts.keys import manage
from accounts.sign_in import attempts, sessions
from accounts.views import MAX_BODY_BYTES
from explorer.guides.advice import ADVICE, OPERATOR_ACTS
from explorer.guides.reference import STATUS_MEANINGS, batch_code_table
from explorer.http.middleware import MAX_FORM_BYTES
from explorer.pages import facts
from explorer.wiring import LIMITS
from queries.api import attestations, estimates
from queries.api.rejection_codes import batch_codes, rejection_codes, wait_codes
from queries.client.python.command import _argument_parser
from queries.config.beacon_chains import BeaconTable, ForkTable
from queries.config.chains import Chain
from queries.config.limits import Limits
from queries.config.measured_costs import MEASUREMENTS, account_cost
from queries.config.routes_file import MAX_NAME_LENGTH
from queries.engines import PROVE, celery
from queries.planning import on_request
from queries.prover.handlers import THREADS
from queries.proving.packing import OSAKA
from queries.schema.strict_json import MAX_DEPTH
from queries.sources import KINDS
from queries.sources.native import NativeRegistry
from queries.statuses import BatchStatus
from queries.webhooks import post, posts
from tests.bench.__main__ import NAMES as ROWS
from tests.environment import SETTINGS_READ

pytestmark = pytest.mark.no_database
DOCUMENTS = ("README.md", "explorer/docs/*.md", "explorer/templates/docs/*.html")
SOURCES = ("*.py", "*.sol", "*.yml", "*.html", "Makefile", "run")
PATH = re.compile(r"(?:(?:GET|POST) )?(/[a-z-]+(?:/[a-z-]+)*/?(?:\.\w+)?)(?:\?.*)?")
SYSTEM_PATHS = ("/etc", "/opt", "/srv", "/tmp", "/usr", "/var", "/run")
SETTINGS_WITH_FILES = SETTINGS_READ | {f"{name}_FILE" for name in SETTINGS_READ}
OTHER_PROGRAMS = {"request_buffers"}
MAKE_COMMANDS = {"build_client", "build_contracts"}
MIDDLEWARE_PATHS = {"/healthz", "/readyz", "/metrics"}


@pytest.fixture(scope="module")
def text(repository: Path) -> str:
    files = [file for pattern in DOCUMENTS for file in sorted(repository.glob(pattern))]
    return "\n".join(file.read_text() for file in files)


@pytest.fixture(scope="module")
def code_words(text: str) -> set[str]:
    """All inline code."""
    matches = re.findall(r"`([^`\n]+)`|<code[^>]*>([^<\n]+)</code>", text)
    return {html.unescape(markdown or page) for markdown, page in matches}


def test_every_setting_is_documented(repository: Path, code_words: set[str]) -> None:
    assert SETTINGS_READ - code_words == set()
    guide = (repository / "explorer" / "docs" / "configuration.md").read_text()
    assert set(re.findall(r"^\| `([A-Z_]+)`", guide, re.MULTILINE)) - SETTINGS_READ == set()
    services = yaml.safe_load((repository / "compose.yaml").read_text())["services"].values()
    set_in_compose = {
        name for service in services if "build" in service for name in service["environment"]
    }
    assert set_in_compose - SETTINGS_WITH_FILES == set()


def test_every_documented_name_is_in_the_code(repository: Path, code_words: set[str]) -> None:
    """All names with an underscore: settings, codes, keys of the routes file, metrics, options."""
    folders = [repository / name for name in ("accounts", "explorer", "queries", "tests", ".ci")]
    files = [file for folder in folders for pattern in SOURCES for file in folder.rglob(pattern)]
    files = [file for file in files if "node_modules" not in file.parts]
    files += [repository / name for name in ("Makefile", "compose.yaml")]
    words = {word for file in files for word in re.findall(r"\w+", file.read_text())}
    names = {name for code in code_words for name in re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", code)}
    names |= {code for code in code_words if re.fullmatch(r"[a-z]+(?:_[a-z]+)+", code)}
    assert names - words - SETTINGS_WITH_FILES - OTHER_PROGRAMS == set()


def test_every_code_and_every_key_of_the_routes_file_is_documented(code_words: set[str]) -> None:
    assert set(ADVICE) <= set(rejection_codes())
    assert set(OPERATOR_ACTS) <= set(wait_codes())
    only_rejected = set(rejection_codes()) - set(wait_codes())
    assert only_rejected - set(ADVICE) == set()  # a rejected batch is not told to wait
    table = batch_code_table(ADVICE)
    assert [entry.code for entry in batch_codes() if f"| `{entry.code}` |" not in table] == []
    assert list(STATUS_MEANINGS) == list(BatchStatus)
    derived = {"id", "fork_table"}  # no keys of the file
    forms: tuple[Any, ...] = (Chain, *KINDS.values(), BeaconTable, ForkTable)
    for form in forms:
        assert TypeAdapter(form).json_schema()["properties"].keys() - code_words <= derived


def test_every_documented_path_is_served(code_words: set[str]) -> None:
    paths = {match[1] for code in code_words if (match := PATH.fullmatch(code))}
    paths = {path for path in paths if not path.startswith(SYSTEM_PATHS)}
    assert len(paths) > 10
    for path in paths - MIDDLEWARE_PATHS:
        try:
            resolve(path)
        except Resolver404:
            pytest.fail(f"nothing is at {path}")


def test_every_command_exists(repository: Path, text: str) -> None:
    commands = get_commands()
    ours = {name for name, app in commands.items() if app in {"accounts", "explorer", "queries"}}
    documented = set(re.findall(r"(?:manage\.py|tacitus) ([a-z]+_\w+)", text))
    assert documented - set(commands) == set()
    assert {name for name in ours - MAKE_COMMANDS if name not in text} == set()
    targets = re.findall(r"^([a-z]+):.*## ", (repository / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"(?:`|^)make ([a-z]+)", text, re.MULTILINE)) - set(targets) == set()
    assert set(re.findall(r"make bench ROWS=(\w+)", text)) - set(ROWS) == set()
    lines = html.unescape(text).replace("\\\n", " ")
    for arguments in re.findall(r"python3? tacitus\.py ((?:'[^'\n]*'|[^\n<`)&'])*)", lines):
        words = shlex.split(re.sub(r"\$\w+|BLOCK", "7", arguments))
        assert "--help" in words or _argument_parser().parse_args(words), arguments


BOUNDS, MAX_DIGITS = Limits(), sys.int_info.default_max_str_digits
BALANCE_GAS = round(account_cost(NativeRegistry.block_work, 1).gas)
# Of limits, settings and costs; other guides explain.
FIGURES = {
    "explorer/docs/security.md": (
        f"| {settings.REQUESTS_PER_MINUTE} a minute per key,",
        f"| {LIMITS.blocks:,} blocks, {LIMITS.accounts:,} accounts, {LIMITS.slots:,} slots, ",
        f"{LIMITS.events:,} logs and other items of blocks |",
        f"| {LIMITS.body_bytes / 2**20:.0f} MiB, chunked or not",
        f"| {MAX_BODY_BYTES // 1024} KiB for sign-in, {MAX_FORM_BYTES:,} bytes for a form,",
        f" {attestations.MAX_BYTES:,} bytes for an attestation |",
        f"| {MAX_DEPTH} levels, numbers of at most {MAX_DIGITS:,} digits,",
        f"| {settings.FACTS_PER_DAY:,} a day per account |",
        f" per account and chain {BOUNDS.delivery_gas_per_day:,} gas in 24 hours,",
        f"| {settings.FEEDS_PER_ACCOUNT} per account, a run at most every {settings.FEED_SECONDS} ",
        f"| {manage.MAX_KEYS_PER_ACCOUNT} per account,",
        f" {manage.MAX_CHANGES_PER_HOUR} changes an hour",
        f" {attempts.ATTEMPTS_PER_BROWSER} attempts per browser,",
        f" {attempts.ATTEMPTS_PER_WALLET} per wallet",
        f" {attempts.ATTEMPTS_PER_NETWORK} per IP address",
        f" (an IPv6 /{rate_limits.IPV6_PREFIX} counts",
        f" of these {attempts.WALLET_QUERIES_PER_NETWORK} with a contract wallet;",
        f" {attempts.PASSWORDS_PER_NETWORK} per IP address with a password |",
        f"| {sessions.MAX_SESSIONS_PER_ACCOUNT} per account, {sessions.MAX_AGE.days} days |",
        f"| {on_request.ESTIMATES_PER_MINUTE} a minute per account,",
        f" {on_request.ESTIMATE_SECONDS:.0f} seconds for an",
        f" {estimates.WITNESS_SECONDS:.0f} seconds for a witness |",
        f"| {facts.MAX_CHECKS} a minute per IP address |",
        f"| {attestations.ATTESTATION_REQUESTS_PER_MINUTE} requests a minute per IP address |",
        f"| {post.LOOKUP_SECONDS + post.REQUEST_SECONDS:.0f} seconds, one at a time per account,",
        f" {LIMITS.webhook_headers} headers of {LIMITS.webhook_header_bytes // 1024} KiB in all,",
        f" {posts.REPLAYS_PER_HOUR} replays an hour |",
        f"| {BOUNDS.max_answer_mib} MiB and {BOUNDS.request_timeout:.0f} seconds;",
        f" {BOUNDS.visitor_timeout:.0f} seconds for *Check it now* and wallets |",
    ),
    "explorer/docs/configuration.md": (
        f"polls the database every {THREADS[PROVE].poll_seconds} seconds.",
        f"looks for more every {celery.SWEEP_SECONDS:.0f} seconds.",
        f"At least {SECRET_KEY_MIN_LENGTH} random characters",
        f"At least {settings.MIN_TOKEN_LENGTH} random characters",
        f"| `gas_cap` | `{OSAKA.cap}` |",
        f"unique, at most {MAX_NAME_LENGTH} characters",
        f"| `REQUESTS_PER_MINUTE` | `{settings.REQUESTS_PER_MINUTE}` |",
        f"| `FACTS_PER_DAY` | `{settings.FACTS_PER_DAY}` |",
        f"| `FEEDS_PER_ACCOUNT` | `{settings.FEEDS_PER_ACCOUNT}` |",
        f"| `FEED_SECONDS` | `{settings.FEED_SECONDS}` |",
        f"| `BATCH_BODY_BYTES` | `{LIMITS.body_bytes}` |",
        f"| `BATCH_BLOCKS` | `{LIMITS.blocks}` |",
        f"| `BATCH_ACCOUNTS` | `{LIMITS.accounts}` |",
        f"| `BATCH_SLOTS` | `{LIMITS.slots}` |",
        f"| `BATCH_EVENTS` | `{LIMITS.events}` |",
        f"More than {post.MAX_DELIVERY_SECONDS:.0f}, which a webhook may take",
    ),
    "explorer/docs/how-it-works.md": (
        f"| header and account of depth 8, balance | {BALANCE_GAS:,} |",
        f"| 100 accounts of one block, each | {MEASUREMENTS['gas']['accounts-100']['gas']:,} |",
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_equal_those_of_the_code(repository: Path, name: str) -> None:
    text = " ".join((repository / name).read_text().split())
    assert [sentence for sentence in FIGURES[name] if sentence not in text] == []


def test_the_scenarios_readme_lists_all_scenarios(repository: Path) -> None:
    folder = repository / "tests" / "scenarios"
    listed = re.findall(r"^\| `(test_\w+)` \|", (folder / "README.md").read_text(), re.MULTILINE)
    code = "\n".join(file.read_text() for file in folder.glob("test_*.py"))
    names = re.findall(r"^def (test_\w+)", code, re.MULTILINE)
    assert set(listed) == set(names)
    assert len(listed) == len(names)
