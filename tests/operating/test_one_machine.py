"""The guide's commands for one machine: SQLite, systemd's units, the proxy's file, a restore, an
upgrade.
"""

import os
import re
import shutil
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
import requests

from queries.config.registries import Registry, RegistryKind, address_of
from tests.commands import free_port
from tests.operating import background
from tests.operating.drill import Drill, chain_of_the_guide, client_of, funded, on_nodes_of
from tests.operating.guide import SUDO, run, shown, stand_in
from tests.rigs.proxy import CADDY
from tests.rigs.service import until

pytestmark = pytest.mark.no_database
FOLDERS = r"(?<![\w.])/(etc|srv/tacitus|var/lib/tacitus|var/backups|usr/local/bin)\b"
VERSION = (
    "accounts explorer queries static templates manage.py pyproject.toml SECURITY.md compose.yaml"
)
HAS_ALREADY = ("usr/local/bin", "etc/caddy", "etc/cron.d")
INSTALL = """
given=(); while [ $# -gt 0 ]; do case $1 in -g | -o) shift ;; *) given+=("$1") ;; esac; shift; done
exec /usr/bin/install "${given[@]}"
"""


class Machine:
    """A folder in place of `/`, with stand-ins for what changes users and services."""

    def __init__(self, repository: Path, folder: Path) -> None:
        self.folder, self.port = folder, str(free_port())
        self.state = folder / "systemd"
        for each in (self.state, *(folder / each for each in HAS_ALREADY)):
            each.mkdir(parents=True)
        self._environment = {
            "PYTHONPATH": str(repository),
            "SYSTEMD_STATE": str(self.state),
            "SYSTEMD_UNITS": str(folder / "etc/systemd/system"),
        }
        self._packages = repository / ".venv"
        stand_in(folder, "sudo", SUDO)
        stand_in(folder, "install", INSTALL)
        for name in ("useradd", "chgrp", "journalctl"):
            stand_in(folder, name, "")
        linked = f'for each in {VERSION}; do ln -s {repository}/$each "$3"; done'
        stand_in(folder, "git", f'mkdir "$3" && {linked}')
        systemctl = f'[ $2 = caddy ] || exec {sys.executable} -m tests.operating.systemd "$@"'
        stand_in(folder, "systemctl", systemctl)
        shutil.copy(CADDY, folder / "bin")
        (folder / "bin" / "tacitus").symlink_to(folder / "usr/local/bin/tacitus")

    def run(self, commands: str) -> str:
        commands = re.sub(FOLDERS, lambda found: f"{self.folder}{found[0]}", commands)
        commands = commands.replace("8000", self.port)
        commands = commands.replace("https://proofs.example.org/", f"http://127.0.0.1:{self.port}/")
        # The packages that the tests run with are those of a version too.
        commands = re.sub(r"sudo python3 -m venv (.*)", rf"ln -s {self._packages} \1", commands)
        commands = re.sub(r".*-m pip install .*\n", "", commands)
        return run(commands, self.folder, self._environment).stdout

    def await_readiness(self) -> None:
        def is_ready() -> bool:
            try:
                return requests.get(f"http://127.0.0.1:{self.port}/readyz", timeout=5).ok
            except requests.ConnectionError:
                return False

        until(is_ready, what="the server is ready")


def test_the_commands_of_the_guide_lead_to_a_service_that_survives_a_restore_and_an_upgrade(
    repository: Path, tmp_path: Path
) -> None:
    machine = Machine(repository, tmp_path)
    for part in (
        "useradd",
        "git clone REPOSITORY /srv/tacitus/0.1.0",
        "/dev/stdin /etc/tacitus/secret_key",
        "tacitus.env <<",
    ):
        machine.run(shown(part))
    with ExitStack() as stack:
        chain = stack.enter_context(closing(chain_of_the_guide()))
        signer = funded(chain, (tmp_path / "etc/tacitus/signer_key").read_text())
        stack.callback(background.stop, "*", machine.state)
        machine.run(on_nodes_of(chain, shown("tacitus init sepolia")))
        for part in ("tacitus deploy_registry", "check --deploy", "tacitus-.service.d"):
            machine.run(shown(part))
        machine.run(shown("systemctl enable"))
        machine.run(shown("^  caddyfile:"))
        machine.await_readiness()
        printed = machine.run(shown("tacitus create_api_key"))
        key = re.findall(r"tct_\w+", printed)[0]
        registry = address_of(Registry(RegistryKind.NATIVE, chain.id, chain.id))
        url = f"http://127.0.0.1:{machine.port}"
        client = client_of(tmp_path / "client", chain, url, key, registry)

        def restore() -> None:
            machine.run(shown("sudo -u tacitus cp /var/backups"))
            machine.await_readiness()

        Drill(client, chain, signer).passes(
            lambda: machine.run(shown("# SQLite\nsudo -u tacitus python3")),
            lambda: machine.run(shown("sudo systemctl stop")),
            restore,
        )
        _runs_at_night(machine)
        machine.run(shown("git clone REPOSITORY /srv/tacitus/0.2.0"))
        machine.await_readiness()
        assert (tmp_path / "srv/tacitus/current").resolve().name == "0.2.0"
        machine.run(shown("sudo ln -sfn 0.1.0 /srv/tacitus/current\nsudo -u"))
        machine.await_readiness()
        assert (tmp_path / "srv/tacitus/current").resolve().name == "0.1.0"
    _accept_the_units(tmp_path / "etc/systemd/system")
    _accept_the_caddyfile(tmp_path)


def _runs_at_night(machine: Machine) -> None:
    """As cron does, the commands of its file. Nothing is printed: nothing is wrong."""
    machine.run(shown("/etc/cron.d/tacitus"))
    written = (machine.folder / "etc/cron.d/tacitus").read_text()
    commands = re.findall(r"^[0-9*/ ]+ tacitus (.*)$", written, re.MULTILINE)
    assert len(commands) == 2
    for each in commands:
        assert not run(each, machine.folder, {}).stdout
    assert len(list((machine.folder / "var/backups/tacitus").glob("*-*.sqlite3"))) == 1


def _accept_the_units(units: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        (pytest.fail if os.environ.get("REQUIRE_BROKERS") else pytest.skip)("no systemd-analyze")
    names = [each.name for each in units.glob("*.service")]
    assert len(names) == 2
    command = ["systemd-analyze", "verify", *(str(units / name) for name in names)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 0
    assert "tacitus" not in ended.stderr


def _accept_the_caddyfile(folder: Path) -> None:
    command = [
        str(CADDY),
        "validate",
        "--adapter=caddyfile",
        f"--config={folder}/etc/caddy/Caddyfile",
    ]
    subprocess.run(command, check=True, env={"HOME": str(folder)}, capture_output=True, timeout=60)
