"""Secrets stay secret, and unsafe settings are refused."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import requests
from eth_account import Account
from eth_typing import HexStr

from tests.rigs.anvil import Chain
from tests.rigs.service import HOLDER, SIGNER_KEY, Service, accounts, request, wait_until
from tests.rigs.stub_node import StubNode, stub_node
from tests.scenarios.fixtures import Install, NewNode, NewService
from tests.scenarios.production import PROXY, SETTINGS, serve_in_production

pytestmark = pytest.mark.either_database

TOKEN = "a-token-for-the-tests-0123456789"
PLAIN_LINES = ("Proving on ", "The prover has stopped.", "worker: Warm shutdown")
LOCAL = {name: PROXY[name] for name in ("Host", "X-Forwarded-Proto")}


@pytest.fixture(scope="module")
def production(install: Install) -> Iterator[Service]:
    """A server in production, without a prover."""
    with install() as service:
        serve_in_production(service, LOG_LEVEL="DEBUG", METRICS_TOKEN=TOKEN)
        yield service


def test_no_log_has_an_api_key(production: Service) -> None:
    (key, *_), url = production.keys, production.url
    wrong = f"{key[:-4]}aaaa"
    for path, headers in (
        ("/api-key", {"api-key": key}),
        (f"/api-key?apiKey={key}", {}),
        (f"/api-key?apiKey={wrong}", {"api-key": wrong}),
        (f"/api-key?apiKey={quote(key.replace('_', '%5F'))}", {}),
        (f"/api-key/{key}", {}),
        (f"/nowhere?{key}", {"Referer": f"https://x.example/?apiKey={key}"}),
    ):
        last = requests.get(f"{url}{path}", headers=PROXY | headers, timeout=30)
        requests.get(f"{url}{path}", headers=headers, timeout=30)  # with another host
    log = production.logs(whole=True)
    for secret in (key, wrong, key.rpartition("_")[2], wrong.rpartition("_")[2]):
        assert secret not in log
    # Log lines have the request id, which the proxy may set.
    assert last.headers["X-Request-ID"] in log
    own_id = {"X-Request-ID": "an-id-of-the-proxy"}
    answer = requests.get(f"{url}/api-key", headers=PROXY | own_id, timeout=30)
    assert answer.headers["X-Request-ID"] == own_id["X-Request-ID"]


def test_header_names_with_underscores_are_dropped(production: Service) -> None:
    """So that clients cannot forge the proxy's headers."""
    address = f"{production.url}/attestations/wanted"
    host = {"Host": PROXY["Host"]}
    for name in ("X_Forwarded_Proto", "X-Forwarded_Proto", "x_forwarded-proto"):
        plain = requests.get(address, headers=host | {name: "https"}, timeout=30)
        assert (plain.status_code, plain.json()["code"]) == (403, "https_needed")
    with requests.Session() as session:  # which has one client's limit
        session.headers.update(LOCAL)
        for number in range(200):
            forged = {
                "X_Forwarded_For": f"203.0.113.{number}",
                "X-Forwarded-For": f"198.51.100.{number}, 192.0.2.7",
            }
            if (answer := session.get(address, headers=forged, timeout=30)).status_code == 429:
                break
    assert answer.status_code == 429
    another = {**LOCAL, "X-Forwarded-For": "192.0.2.8"}
    assert requests.get(address, headers=another, timeout=30).status_code == 200


def test_browsers_get_strict_headers(production: Service) -> None:
    page = requests.get(f"{production.url}/sign-in", headers=PROXY, timeout=30)
    policy = dict(directive.split(" ", 1) for directive in
                  page.headers["Content-Security-Policy"].split("; "))  # fmt: skip
    assert (policy["default-src"], policy["script-src"]) == ("'none'", "'self'")
    assert (policy["base-uri"], policy["frame-ancestors"]) == ("'none'", "'none'")
    assert not re.search("unsafe|http:|[*]", str(policy))
    assert "max-age=31536000" in page.headers["Strict-Transport-Security"]
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert page.headers["X-Frame-Options"] == "DENY"
    cookie = page.headers["Set-Cookie"]
    assert cookie.startswith("__Host-")
    assert all(
        attribute in cookie for attribute in ("Secure", "HttpOnly", "SameSite=Lax", "Path=/")
    )


def test_metrics_need_loopback_or_the_token(production: Service, shared_service: Service) -> None:
    for headers, status in (
        ({}, 403),
        ({"Authorization": "Bearer another"}, 403),
        ({"Authorization": f"Bearer {TOKEN}"}, 200),
    ):
        answer = requests.get(f"{production.url}/metrics", headers=headers, timeout=30)
        assert answer.status_code == status
    for headers, status in (
        ({}, 200),
        ({"X-Forwarded-For": "192.0.2.1"}, 403),
        ({"Host": "proofs.example.org"}, 403),
    ):
        answer = requests.get(f"{shared_service.url}/metrics", headers=headers, timeout=30)
        assert answer.status_code == status


def test_secrets_from_files_are_in_no_process_list_log_page_or_error(
    new_service: NewService, new_node: NewNode, chain: Chain
) -> None:
    """Nor are a webhook's URL and headers. Every line of the log is JSON."""
    service, node = new_service(), new_node(chain)
    service.forks = False  # the process list has the command lines
    keystore = Account.encrypt(
        HexStr(SIGNER_KEY), "hunter2-password", kdf="pbkdf2", iterations=1_000
    )
    secrets = {
        "SECRET_KEY": SETTINGS["SECRET_KEY"],
        "FORMER_SECRET_KEYS": f"hunter2-former-{SETTINGS['SECRET_KEY']}",
        "DATABASE_URL": service.database,
        "SIGNER_KEYSTORE": json.dumps(keystore),
        "SIGNER_PASSWORD": "hunter2-password",
        "ATTESTER_KEY": f"0x{32 * '5c'}",
        "METRICS_TOKEN": f"hunter2-{TOKEN}",
        "CELERY_BROKER": "amqp://someone:hunter2-broker@127.0.0.1:1//",
        "node": f"{node.url}/hunter2-node-key",
    }
    for name, secret in secrets.items():
        (service.folder / name).write_text(secret)
    service.add_native_chain(chain, "NODE")
    routes = service.routes.read_text().replace('["NODE"]', '[{ file = "node" }]')
    service.routes.write_text(routes)
    files = {f"{name}_FILE": str(service.folder / name) for name in secrets if name.isupper()}
    unset = dict.fromkeys(["SIGNER_KEY", *(name for name in secrets if name.isupper())], "")
    more = {"PROVER_ENGINE": "celery", "LOG_LEVEL": "DEBUG"}
    serve_in_production(service, **unset, **files, **more)
    prover, worker = service.start("run_prover"), service.work()
    worker.await_log("Trying again")  # its broker does not answer
    block = chain.mine(2) - 1
    hook = {
        "url": "https://receiver.invalid/hunter2",
        "headers": {"Authorization": "Bearer hunter2"},
    }
    service.wait(batch := service.submit_balance(block, webhook=hook))
    wait_until(lambda: service.get("/webhook-deliveries").json()["deliveries"][0]["attempts"])
    commands = [file.read_bytes() for file in Path("/proc").glob("[0-9]*/cmdline")]
    own_commands = b"".join(
        command for command in commands if b"manage.py" in command or b"celery" in command
    )
    assert b"run_prover" in own_commands
    assert b"worker" in own_commands
    page = f"/explorer/query/{batch}"
    paths = (
        page, f"{page}/0", f"{page}/proof.json", f"{page}/facts.json", "/explorer/routes",
        f"/explorer/account/{HOLDER}", "/docs/running", "/openapi.json", "/admin/", "/metrics",
        "/readyz", f"/batch-query-status?batchQueryId={batch}", "/webhook-deliveries",
    )  # fmt: skip
    token = {"Authorization": f"Bearer {secrets['METRICS_TOKEN']}"}
    metrics = requests.get(f"{service.url}/metrics", headers=token, timeout=30)
    assert metrics.status_code == 200
    pages = [service.get(path, key=service.keys[1]).text for path in paths] + [metrics.text]
    assert HOLDER in pages[0]
    node.hang_up()
    checked = service.manage("check_setup", fails=True)
    route = ("--source", "31337", "--destination", "31337")
    unsigned = service.manage("attest", *route, "--block", "1", fails=True)
    refused = service.post("/estimate", request({31337: {block: accounts(HOLDER)}}))
    assert refused.json()["code"] == "chain_unavailable"
    printed = "".join(result.stdout + result.stderr for result in (checked, unsigned))
    prover.stop()
    worker.stop()
    logs = prover.log.splitlines() + worker.log.partition("[queues]")[2].splitlines()[3:]
    lines = [json.loads(line) for line in logs if line and not line.startswith(PLAIN_LINES)]
    assert "celery" in {line["logger"].partition(".")[0] for line in lines}
    output = service.logs(whole=True) + printed + refused.text + "".join(pages)
    for secret in (*secrets.values(), SIGNER_KEY, SIGNER_KEY[2:], "hunter2", *service.keys):
        assert secret not in output
        assert secret.encode() not in own_commands


# A command, its settings, and a part of the error.
UNSAFE = {
    "no secret key": ("check", {"SECRET_KEY": ""}, "SECRET_KEY"),
    "a weak secret key": ("check", {"SECRET_KEY": 60 * "h"}, "SECRET_KEY"),
    "a missing secret file": (
        "check",
        {"SECRET_KEY": "", "SECRET_KEY_FILE": "/hunter2"},
        "SECRET_KEY_FILE",
    ),
    "debug pages": ("check", {"DEBUG": "1"}, "DEBUG"),
    "no site URL": ("check", {"SITE_URL": ""}, "SITE_URL"),
    "a site without TLS": ("check", {"SITE_URL": "http://proofs.example.org"}, "SITE_URL"),
    "any host": ("check", {"EXTRA_HOSTS": "*"}, "EXTRA_HOSTS"),
    "an operator without a checksum": ("check", {"OPERATORS": HOLDER.lower()}, "OPERATORS"),
    "a weak token": ("check", {"METRICS_TOKEN": "hunter2"}, "METRICS_TOKEN"),
    "an unknown database": ("check", {"DATABASE_URL": "mysql://u:hunter2@h/n"}, "DATABASE_URL"),
    "no broker": ("check", {"PROVER_ENGINE": "celery", "CELERY_BROKER": ""}, "CELERY_BROKER"),
    "an unknown broker": ("check", {"CELERY_BROKER": "hunter2://h"}, "CELERY_BROKER"),
    "a broker's password with a slash": (
        "check",
        {"CELERY_BROKER": "amqp://u:hunter2/3@h:5672//"},
        "CELERY_BROKER",
    ),
    "the demo's wallet": (
        "check",
        {"DEMO_WALLET_NODE": "http://127.0.0.1:8545"},
        "DEMO_WALLET_NODE",
    ),
    "the demo's wallet on a public address": (
        "serve --host 0.0.0.0",
        {"DEVELOPMENT": "1", "DEMO_WALLET_NODE": "http://127.0.0.1:8545"},
        "the demo wallet would sign them in",
    ),
    "no proxy": ("serve", {"BEHIND_PROXY": "0"}, "BEHIND_PROXY"),
    "the default secret key on a public address": (
        "serve --host 0.0.0.0",
        {"DEVELOPMENT": "1", "SECRET_KEY": ""},
        "SECRET_KEY",
    ),
    "no routes": ("run_prover", {"ROUTES_FILE": "/hunter2"}, "ROUTES_FILE"),
    "no signer": ("run_prover", {"SIGNER_KEY": ""}, "SIGNER_KEY"),
    "a malformed signer's key": ("run_prover", {"SIGNER_KEY": "hunter2"}, "SIGNER_KEY"),
    "a lease shorter than a webhook": (
        "run_prover",
        {"PROVER_LEASE_SECONDS": "11"},
        "PROVER_LEASE_SECONDS is 11; a webhook or a node may take 12 seconds",
    ),
}


@pytest.mark.parametrize("case", UNSAFE)
def test_an_unsafe_setting_is_named_and_refused_at_the_start(
    shared_service: Service, case: str
) -> None:
    command, settings, setting = UNSAFE[case]
    changed: dict[str, Any] = SETTINGS | settings
    result = shared_service.manage(*command.split(), fails=True, **changed)
    assert setting in result.stderr
    assert "Traceback" not in result.stderr
    assert "hunter2" not in result.stdout + result.stderr


def test_a_lease_shorter_than_a_nodes_answer_is_refused(
    shared_service: Service, tmp_path: Path
) -> None:
    routes = tmp_path / "routes.toml"
    routes.write_text(f"{shared_service.routes.read_text()}\n[limits]\nrequest_timeout = 20\n")
    settings = {"ROUTES_FILE": str(routes), "PROVER_LEASE_SECONDS": "20"}
    stderr = shared_service.manage("run_prover", fails=True, **settings).stderr
    assert "is 20; a webhook or a node may take 20 seconds (request_timeout)." in stderr


def test_a_nodes_endless_answer_is_cut_off(new_service: NewService, chain: Chain) -> None:
    service = new_service()
    sent = [0]

    def say(node: StubNode, _: object) -> None:
        node.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        sent.append(0)
        while not node.ended.is_set():
            sent[-1] += node.wfile.write(2**20 * b" ")

    with stub_node(say) as endless_node:
        service.set_limits(quorum_wait=2, max_retry_delay=2)
        service.add_native_chain(chain, endless_node, chain.url)
        service.serve()
        service.prove()
        service.wait(service.submit_balance(chain.mine(2) - 1))
        service.close()
    assert 0 < max(sent) < 100 * 2**20
