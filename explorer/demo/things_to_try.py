"""What the demo says when all runs: where everything is, and three things to try."""

from dataclasses import dataclass

from explorer.demo.chains import CHAIN_A, CHAIN_B, TOKEN_BALANCES, DemoChains
from explorer.demo.terminal import Terminal
from explorer.demo.tour import Proven

PYTHON = ".venv/bin/python"


@dataclass(frozen=True)
class Running:
    """What is up, and where."""

    site: str
    key: str
    folder: str
    chains: DemoChains
    first: Proven


def show_things_to_try(terminal: Terminal, it: Running) -> None:
    site, key, chains, first = it.site, it.key, it.chains, it.first
    for name, value in (
        ("Explorer", f"{site}/"),
        ("API key", key),
        ("Demo A", f"{chains.a.url}  chain {CHAIN_A}"),
        ("Demo B", f"{chains.b.url}  chain {CHAIN_B}"),
        ("Registry", f"{chains.native}  on Demo A, of Demo A"),
        ("Files", f"{it.folder}: routes.toml, and a log of each program"),
    ):
        terminal.line(f"{name:<10}{value}")
    terminal.line()
    terminal.line("Three things to try")
    terminal.line()
    terminal.line("1. Sign in with the demo wallet, and ask for a proof in a form:")
    terminal.line(f"   {site}/dashboard/new-batch")
    terminal.line()
    terminal.line("2. Ask from another terminal, for what someone holds of a token on Demo B:")
    for line in _asking(site, key, chains):
        terminal.line(f"   {line}")
    terminal.line()
    terminal.line("3. Keep the first batch's proof, and check it when all of this is gone:")
    terminal.line(f"   curl -sSo proof.json {site}/explorer/query/{first.batch_id}/proof.json")
    terminal.line(f"   {PYTHON} manage.py verify_proof proof.json --hash {first.block_hash}")
    terminal.line()
    terminal.line("It stays up until Ctrl-C.")


def _asking(site: str, key: str, chains: DemoChains) -> list[str]:
    slot = f"$({PYTHON} tacitus.py slot {TOKEN_BALANCES} --key {chains.holders[2]})"
    block = int(chains.b.rpc.ask("eth_blockNumber"), 16)
    return [
        f"curl -sSO {site}/tacitus.py",
        f"export TACITUS_URL={site} TACITUS_KEY={key}",
        f"{PYTHON} tacitus.py submit --from {CHAIN_B} --to {CHAIN_A} --block {block} \\",
        f"  --account {chains.token} --slot {slot} --wait",
    ]
