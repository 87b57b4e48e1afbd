"""The guide's commands for one machine: SQLite, systemd, a proxy, a restore and an upgrade."""

import re
import shutil
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
import requests

from queries.config.networks import NETWORKS
from queries.sources import network_registry
from tests.commands import free_port, run_program
from tests.environment import skip_without
from tests.operating import background
from tests.operating.drill import Drill, fund_signer, guide_chain, service_client, with_chain_node
from tests.operating.guide import SUDO, find_commands, run, write_stand_in
from tests.rigs.proxy import CADDY
from tests.rigs.service import wait_until

pytestmark = [pytest.mark.no_database, pytest.mark.installation]
FOLDERS = r"(?<![\w.])/(etc|srv/tacitus|var/lib/tacitus|var/backups|usr/local/bin)\b"
RELEASE_FILES = "accounts explorer queries manage.py compose.yaml"
EXISTING_FOLDERS = ("usr/local/bin", "etc/caddy", "etc/cron.d")
INSTALL = """
given=(); while [ $# -gt 0 ]; do case $1 in -g | -o) shift ;; *) given+=("$1") ;; esac; shift; done
exec /usr/bin/install "${given[@]}"
"""


class Machine:
    """A folder in place of `/`, with stand-ins for commands that change users and services."""

    def __init__(self, repository: Path, folder: Path) -> None:
        self.folder, self.port = folder, str(free_port())
        self.state = folder / "systemd"
        for path in (self.state, *(folder / name for name in EXISTING_FOLDERS)):
            path.mkdir(parents=True)
        self._environment = {
            "PYTHONPATH": str(repository),
            "SYSTEMD_STATE": str(self.state),
            "SYSTEMD_UNITS": str(folder / "etc/systemd/system"),
        }
        self._packages = repository / ".venv"
        write_stand_in(folder, "sudo", SUDO)
        write_stand_in(folder, "install", INSTALL)
        for name in ("useradd", "chgrp", "journalctl"):
            write_stand_in(folder, name, "")
        link = f'for name in {RELEASE_FILES}; do ln -s {repository}/$name "$3"; done'
        write_stand_in(folder, "git", f'mkdir "$3" && {link}')
        systemctl = f'[ $2 = caddy ] || exec {sys.executable} -m tests.operating.systemd "$@"'
        write_stand_in(folder, "systemctl", systemctl)
        shutil.copy(CADDY, folder / "bin")
        (folder / "bin" / "tacitus").symlink_to(folder / "usr/local/bin/tacitus")

    def run(self, commands: str) -> str:
        commands = re.sub(FOLDERS, lambda match: f"{self.folder}{match[0]}", commands)
        commands = commands.replace("8000", self.port)
        commands = commands.replace("https://proofs.example.org/", f"http://127.0.0.1:{self.port}/")
        # A release uses the packages of the tests.
        commands = re.sub(r"sudo python3 -m venv (.*)", rf"ln -s {self._packages} \1", commands)
        commands = re.sub(r".*-m pip install .*\n", "", commands)
        return run(commands, self.folder, self._environment).stdout

    def await_readiness(self) -> None:
        def is_ready() -> bool:
            try:
                return requests.get(f"http://127.0.0.1:{self.port}/readyz", timeout=5).ok
            except requests.ConnectionError:
                return False

        wait_until(is_ready, what="the server is ready")


def test_the_guides_commands_set_up_a_service_that_survives_a_restore_and_an_upgrade(
    repository: Path, tmp_path: Path
) -> None:
    machine = Machine(repository, tmp_path)
    for part in (
        "useradd",
        "git clone REPOSITORY /srv/tacitus/0.1.0",
        "/dev/stdin /etc/tacitus/secret_key",
        "tacitus.env <<",
    ):
        machine.run(find_commands(part))
    with ExitStack() as stack:
        chain = stack.enter_context(closing(guide_chain()))
        signer = fund_signer(chain, (tmp_path / "etc/tacitus/signer_key").read_text())
        stack.callback(background.stop, "*", machine.state)
        machine.run(with_chain_node(chain, find_commands("tacitus init sepolia")))
        for part in ("tacitus deploy_registry", "check --deploy", "tacitus-.service.d"):
            machine.run(find_commands(part))
        machine.run(find_commands("systemctl enable --now tacitus-web"))
        machine.run(find_commands("^  caddyfile:"))
        machine.await_readiness()
        printed = machine.run(find_commands("tacitus create_api_key"))
        key = re.findall(r"tct_\w+", printed)[0]
        registry = network_registry(NETWORKS["sepolia"], NETWORKS["sepolia"]).address
        url = f"http://127.0.0.1:{machine.port}"
        client = service_client(tmp_path / "client", chain, url, key, registry)

        def restore() -> None:
            machine.run(find_commands("sudo -u tacitus cp /var/backups"))
            machine.await_readiness()

        Drill(client, chain, signer).run(
            lambda: machine.run(find_commands("# SQLite\nsudo -u tacitus python3")),
            lambda: machine.run(find_commands("sudo systemctl stop")),
            restore,
        )
        _check_cron(machine)
        machine.run(find_commands("git clone REPOSITORY /srv/tacitus/0.2.0"))
        machine.await_readiness()
        assert (tmp_path / "srv/tacitus/current").resolve().name == "0.2.0"
        machine.run(find_commands("sudo ln -sfn 0.1.0 /srv/tacitus/current\nsudo -u"))
        machine.await_readiness()
        assert (tmp_path / "srv/tacitus/current").resolve().name == "0.1.0"
    _check_units(tmp_path / "etc/systemd/system")
    _check_caddyfile(tmp_path)


def _check_cron(machine: Machine) -> None:
    """Run the commands of cron's file, which must print nothing."""
    machine.run(find_commands("/etc/cron.d/tacitus"))
    crontab = (machine.folder / "etc/cron.d/tacitus").read_text()
    commands = re.findall(r"^[0-9*/ ]+ tacitus (.*)$", crontab, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        assert not run(command, machine.folder, {}).stdout
    assert len(list((machine.folder / "var/backups/tacitus").glob("*-*.sqlite3"))) == 1


def _check_units(units: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        skip_without("systemd-analyze (apt-get install systemd)")
    names = [unit.name for unit in units.glob("*.service")]
    assert len(names) == 2
    command = ["systemd-analyze", "verify", *(str(units / name) for name in names)]
    completed = run_program(command)
    assert completed.returncode == 0
    assert "tacitus" not in completed.stderr


def _check_caddyfile(folder: Path) -> None:
    command = [
        str(CADDY),
        "validate",
        "--adapter=caddyfile",
        f"--config={folder}/etc/caddy/Caddyfile",
    ]
    subprocess.run(command, check=True, env={"HOME": str(folder)}, capture_output=True, timeout=60)
