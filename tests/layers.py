"""The rules of the house: who may import whom, and who may write what.

`violations` takes the sources as text, so that a test can show each rule a break of it.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator, Mapping

from tests.references import Module, Reference, read
from tests.status_writes import status_writes

# queries/proving is pure: arithmetic on bytes, nothing that could ask anyone or know the time.
PURE = {
    "__future__", "abc", "binascii", "bisect", "collections", "contextlib", "dataclasses", "enum",
    "functools", "hashlib", "itertools", "json", "math", "operator", "re", "struct", "types",
    "typing", "rlp", "eth_hash", "queries.proving",
}  # fmt: skip
IMPURE_CALLS = {"open", "__import__", "eval", "exec"}
NETWORK = {
    "aiohttp", "asyncio", "django.core.mail", "ens", "ftplib", "http.client", "http.server",
    "httpx", "multiprocessing.connection", "os.popen", "os.system", "redis", "requests", "smtplib",
    "socket", "socketserver", "ssl", "subprocess", "urllib.request", "urllib.robotparser",
    "urllib3", "web3", "websockets", "xmlrpc",
}  # fmt: skip
# Served as it stands, to run on the machines of others; nothing of the service runs it.
CLIENT, CLIENT_MODULE = "queries/tacitus.py", "queries.tacitus"
TALKS = re.compile(rf"queries/(chain/|webhooks\.py)|{CLIENT}")
# What listens opens a socket or waits on a loop, and a command may start a program; none of them
# asks anyone. The bench finds a free port, and asks the server that it started faster than requests
# can.
MAY_ALSO = {
    "asyncio": re.compile(r"explorer/gate\.py"),
    "socket": re.compile(
        r"explorer/(management/commands/(serve|demo)|serving_process|last_newcomers)\.py|"
        r"explorer/bench/(server|load)\.py"
    ),
    "subprocess": re.compile(r"\w+/management/commands/|explorer/demo/processes\.py"),
    # The demo does what a wallet, a dApp and an operator do, and asks its own server; a script of
    # the bench asks the node as somebody would who does without all of this.
    "requests": re.compile(r"explorer/(demo/|bench/plain_node\.py$)"),
}
# The demo and the bench: nothing of the service runs them.
STANDS_IN_FOR_USERS = re.compile(
    r"explorer/(demo/|bench/|management/commands/(demo|bench|bench_server)\.py)"
)
PAGES = re.compile(r"explorer/views")
# Beside reading, what explorer wires together: addresses, and sign-in's question to a wallet.
WIRING = {
    "queries.api": {"explorer/urls.py", "explorer/batch_desk.py"},
    "queries.chain": {"explorer/wiring.py"},
    "queries.deliveries": {"explorer/wiring.py"},
    "queries.proving.header_fields": {"explorer/batch_desk.py"},
    "queries.proving.witnesses": {"explorer/batch_desk.py"},
    "queries.routes": {
        "explorer/wiring.py",
        "explorer/urls.py",
        "explorer/page_links.py",
        "explorer/batch_desk.py",
        "explorer/new_batch_page.py",
        "explorer/trust.py",
    },
    "queries.rules_from_routes": {"explorer/batch_desk.py"},
    "queries.schema": {"explorer/wiring.py", "explorer/urls.py", "explorer/batch_desk.py"},
    "queries.statuses": {"explorer/views/dashboard.py"},
    "queries.wait_reasons": {"explorer/batch_page.py"},
}
BY_NAME = {"importlib.import_module", "django.utils.module_loading", "django.apps.apps.get_model"}
CELERY = {"celery", "kombu"}
ENVIRONMENT = {"environ.Env", "environ.FileAwareEnv"}
ENVIRONMENT_NAMES = {"environ", "environb", "getenv", "getenvb"}
# The one writer of a status; what inserts queries, which have none, in SQL of its own; and made-up
# rows of a scratch database, which went through nothing.
MAY_WRITE_STATUS = {
    "queries/transitions.py",
    "queries/query_rows.py",
    "queries/management/scratch_rows.py",
    "queries/management/many_queries.py",
    "queries/management/many_wide_queries.py",
}
# What takes so long to load that only who signs someone in waits for it.
LOADED_WHEN_USED = {"siwe": {"accounts/eip4361.py"}}
STARTERS = {"manage.py", "explorer/wsgi.py", "explorer/demo/processes.py"}


def _talks(each: Reference) -> bool:
    if TALKS.match(each.file) or not (
        each.is_of(*NETWORK) or (each.imported and each.name == "urllib")
    ):
        return False
    return not any(
        each.is_of(module) and files.match(each.file) for module, files in MAY_ALSO.items()
    )


def _imports_inside(each: Reference) -> bool:
    late = any(each.is_of(name) and each.file in files for name, files in LOADED_WHEN_USED.items())
    return each.inside_function and not late


def _reads_environment(each: Reference) -> bool:
    if each.file in {"explorer/settings.py", CLIENT, *STARTERS}:
        return False
    _, *parts = each.name.split(".")
    # db_url_config takes an address apart and reads nothing.
    return bool(ENVIRONMENT_NAMES & set(parts)) or (
        each.is_of(*ENVIRONMENT) and not each.is_of("environ.Env.db_url_config")
    )


def _is_past_reading(each: Reference) -> bool:
    wired = any(each.is_of(part) and each.file in files for part, files in WIRING.items())
    return each.is_of("queries", "accounts.models") and not (each.is_of("queries.reading") or wired)


def _is_by_name(each: Reference) -> bool:
    return "/migrations/" not in each.file and (
        each.is_of(*BY_NAME) or each.name.endswith("apps.get_model")
    )


RULES: dict[str, Callable[[Reference], bool]] = {
    "proving is pure": lambda each: (
        each.imported and each.file.startswith("queries/proving/") and not each.is_of(*PURE)
    ),
    "only chain and webhooks talk to a network": _talks,
    "accounts knows neither queries nor explorer": lambda each: (
        each.file.startswith("accounts/") and each.is_of("queries", "explorer")
    ),
    "queries never knows explorer": lambda each: (
        each.file.startswith("queries/") and each.is_of("explorer")
    ),
    "pages use reading, never models": lambda each: (
        bool(PAGES.match(each.file)) and (_is_past_reading(each) or each.is_of("django.db"))
    ),
    "explorer only wires what is not for pages": lambda each: (
        each.file.startswith("explorer/")
        and not STANDS_IN_FOR_USERS.match(each.file)
        and _is_past_reading(each)
    ),
    "the client needs nothing but requests": lambda each: (
        each.file == CLIENT
        and each.imported
        and not each.is_of("requests", *sys.stdlib_module_names)
    ),
    "the client is for others": lambda each: (
        each.is_of(CLIENT_MODULE) and not STANDS_IN_FOR_USERS.match(each.file)
    ),
    "no Django signals": lambda each: (
        each.is_of("django.dispatch") or "signals" in each.name.split(".")
    ),
    "an import names what it takes": lambda each: each.imported and each.name.endswith(".*"),
    "no import inside a function": _imports_inside,
    "nothing is imported by its name in a text": _is_by_name,
    "only settings reads the environment": _reads_environment,
}


def _calls(module: Module, names: set[str]) -> Iterator[int]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            yield node.lineno


def violations(sources: Mapping[str, str]) -> list[str]:
    """Every break of a rule in `sources` (path → text), as a line to read."""
    found: list[str] = []
    celery_users: set[str] = set()
    for file, text in sources.items():
        module = read(file, text)
        for each in module.references:
            found += [
                f"{rule}: {file}:{each.line} refers to {each.name}"
                for rule, broken in RULES.items()
                if broken(each)
            ]
            if each.is_of(*CELERY):
                celery_users.add(file)
        calls = {"nothing is imported by its name in a text": _calls(module, {"__import__"})}
        if file.startswith("queries/proving/"):
            calls["proving is pure"] = _calls(module, IMPURE_CALLS)
        if file not in MAY_WRITE_STATUS:
            calls["only transitions writes a status"] = status_writes(module)
        found += [f"{rule}: {file}:{line}" for rule, lines in calls.items() for line in lines]
    if len(celery_users) > 1:
        found.append(f"only one module imports celery: {', '.join(sorted(celery_users))}")
    return found
