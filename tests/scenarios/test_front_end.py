"""The guide's page and back end, in a browser: wagmi reads a lookup, and a proven fact."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socket import socket

import pytest
import requests
from playwright.sync_api import Page, expect

from queries.sources.registry import RegistryKind
from tests.commands import free_port, run_program
from tests.guides import code_blocks
from tests.rigs.anvil import Chain
from tests.rigs.quiet_server import QuietHandler, handler_server
from tests.rigs.service import HOLDER, HOLDER_BALANCE, Service, wait_until
from tests.scenarios.fixtures import Install
from tests.scenarios.lookups import JS, add_route, gateway

pytestmark = [pytest.mark.browser, pytest.mark.either_database]
MODULES = JS / "node_modules"
REPOSITORY = JS.parents[1]
MAIN = """\
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { createRoot } from "react-dom/client";
import { defineChain } from "viem";
import { createConfig, http, WagmiProvider } from "wagmi";
import { Balance, useRoute } from "./balance.tsx";
import { ProvenBalance } from "./proven-balance.tsx";

const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
const chain = defineChain({
  id: CHAIN, name: "Here", nativeCurrency, rpcUrls: { default: { http: ["NODE"] } },
});
const config = createConfig({ chains: [chain], transports: { [chain.id]: http() } });
function Page() {
  const route = useRoute();
  const registry = route?.registry;
  return <>
    <Balance account="HOLDER" />
    {registry &&
      <ProvenBalance account="HOLDER" chainId={chain.id} registry={registry} block={BLOCKn} />}
  </>;
}
createRoot(document.body).render(
  <WagmiProvider config={config}>
    <QueryClientProvider client={new QueryClient()}><Page /></QueryClientProvider>
  </WagmiProvider>,
);
"""


@pytest.fixture(scope="module")
def service(install: Install) -> Iterator[Service]:
    with closing(Chain(block_time=1)) as chain, install() as service:
        service.add_chain(chain)
        chain.mine()  # the first one comes after a second
        add_route(service, RegistryKind.NATIVE, chain, chain)
        service.manage("deploy_registry", "--yes")
        service.serve()
        service.prove()
        yield service


def test_a_page_reads_a_lookup_and_what_its_back_end_had_proven(
    service: Service, tmp_path: Path, page: Page
) -> None:
    chain, back_end = service.chain, free_port()
    block = chain.head - 1
    blocks = code_blocks(requests.get(f"{service.url}/docs/front-end", timeout=30).text)
    _, balance, program, proven = blocks
    (tmp_path / "node_modules").mkdir()
    for name in MODULES.iterdir():
        (tmp_path / "node_modules" / name.name).symlink_to(name)
    client = REPOSITORY / "queries" / "client" / "typescript"
    (tmp_path / "node_modules" / "tacitus").symlink_to(client)
    # The lookup's address follows from its gateways, and the server's port is chosen later.
    balance = balance.replace("600n, []", f'600n, ["{gateway(service)}"]')
    (tmp_path / "balance.tsx").write_text(balance)
    (tmp_path / "proven-balance.tsx").write_text(proven)
    (tmp_path / "back-end.mjs").write_text(program.replace("3000", str(back_end)))
    values = {"CHAIN": chain.id, "NODE": chain.url, "HOLDER": HOLDER, "BLOCK": block}
    main = re.sub("CHAIN|NODE|HOLDER|BLOCK", lambda match: str(values[match[0]]), MAIN)
    (tmp_path / "main.tsx").write_text(main)
    compile_options = (
        "--strict", "--noEmit", "--skipLibCheck", "--allowImportingTsExtensions", "--jsx",
        "react-jsx", "--target", "es2022", "--module", "preserve", "--types", "react",
    )  # fmt: skip
    bun = next(iter(MODULES.glob("@oven/bun-*/bin/bun")))
    for command in (
        [MODULES / ".bin" / "tsc", *compile_options, "main.tsx"],
        [bun, "build", "main.tsx", "--outfile", "main.js", "--production"],
    ):
        ended = run_program(list(map(str, command)), cwd=tmp_path)
        assert ended.returncode == 0, ended.stdout + ended.stderr
    script = (tmp_path / "main.js").read_bytes()

    class Site(QuietHandler, BaseHTTPRequestHandler):
        """The page, and its back end below /api."""

        def do_GET(self) -> None:
            if self.path.startswith("/api/"):
                answer = requests.get(f"http://127.0.0.1:{back_end}{self.path}", timeout=30)
                self.answer(answer.content, answer.status_code)
            elif self.path == "/main.js":
                self.answer(script, Content_Type="text/javascript")
            else:
                html = b'<!doctype html><title>dApp</title><body><script src="main.js"></script>'
                self.answer(html, Content_Type="text/html; charset=utf-8")

    environment = os.environ | {"TACITUS_KEY": service.keys[0]}
    running = subprocess.Popen(["node", "back-end.mjs"], cwd=tmp_path, env=environment)
    try:
        wait_until(lambda: _is_open(back_end))
        with handler_server(Site) as port:
            page.goto(f"http://127.0.0.1:{port}/")
            ether = f"{Decimal(HOLDER_BALANCE).scaleb(-18).normalize():f} ether"
            expect(page.get_by_text(re.compile(rf"^{ether} in block \d+$"))).to_be_visible()
            expect(page.get_by_text(f"{ether}, proven")).to_be_visible(timeout=60_000)
    finally:
        running.terminate()
        running.wait()


def _is_open(port: int) -> bool:
    with socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
