"""The guide's commands for `compose.yaml`: from an empty folder to a restored backup."""

import json
import shutil
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from queries.config.networks import NETWORKS
from queries.sources import network_registry
from tests.commands import free_port
from tests.operating import background
from tests.operating.drill import (
    CHAIN_ID,
    Drill,
    fund_signer,
    guide_chain,
    service_client,
    with_chain_node,
)
from tests.operating.guide import SUDO, find_commands, run, write_stand_in
from tests.operating.postgres import Postgres, new_postgres
from tests.rigs.service import wait_until
from tests.scenarios.test_engines import BROKERS, alone_at, require_broker

pytestmark = [pytest.mark.no_database, pytest.mark.installation]
_, RABBITMQ = BROKERS


class Machine:
    """A folder like a clone, whose commands find a stand-in for Docker."""

    def __init__(self, repository: Path, folder: Path) -> None:
        self.folder, self.state = folder, folder / "docker"
        self.state.mkdir()
        for name in ("accounts", "explorer", "queries"):
            (folder / name).symlink_to(repository / name)
        for name in ("manage.py", "Dockerfile", "compose.yaml"):
            shutil.copy(repository / name, folder)
        docker = f'exec {sys.executable} -m tests.operating.docker "$@"'
        write_stand_in(folder, "docker", docker)
        write_stand_in(folder, "sudo", SUDO)
        write_stand_in(folder, "chgrp", "")
        self._environment = {"PYTHONPATH": str(repository), "DOCKER_STATE": str(self.state)}

    def run(self, commands: str) -> str:
        return run(commands, self.folder, self._environment).stdout

    def hosts(self, **hosts: Any) -> None:
        (self.state / "hosts.json").write_text(json.dumps(hosts))


def test_the_guides_commands_set_up_a_service_that_survives_a_restore(
    repository: Path, tmp_path: Path
) -> None:
    require_broker(RABBITMQ)
    machine = Machine(repository, tmp_path)
    machine.run(find_commands("mkdir secrets"))
    password = (tmp_path / "secrets" / "postgres_password").read_text().strip()
    broker = (tmp_path / "secrets" / "celery_broker").read_text()
    with ExitStack() as stack:
        stack.enter_context(alone_at(RABBITMQ))
        chain = stack.enter_context(closing(guide_chain()))
        signer = fund_signer(chain, (tmp_path / "secrets" / "signer_key").read_text())
        stack.callback(background.stop, "*", machine.state)
        postgres = stack.enter_context(new_postgres(password))
        with postgres.while_initialising():
            # `migrate` must not start yet: the image restarts the server after its scripts.
            assert not postgres.is_healthy(_health_check(repository))
        stack.enter_context(postgres.while_running())
        postgres.await_health(_health_check(repository))
        port = str(free_port())
        names = {"@postgres/": f"@127.0.0.1:{postgres.port}/", broker: RABBITMQ, "8000": port}
        machine.hosts(postgres=postgres.environment, names=names)
        machine.run(with_chain_node(chain, find_commands("docker compose build")))
        machine.run(find_commands("prover python manage.py deploy_registry"))
        key = machine.run(find_commands("docker compose up --detach\ndocker compose run")).split()[
            -1
        ]
        registry = network_registry(NETWORKS["sepolia"], NETWORKS["sepolia"]).address
        client = service_client(
            tmp_path / "client", chain, f"http://127.0.0.1:{port}", key, registry
        )

        def back_up() -> None:
            machine.run(find_commands("docker compose exec -T postgres pg_dump"))
            _run_without_containers(machine, postgres, "pg_dump --format custom --file")

        def restore() -> None:
            _run_without_containers(machine, postgres, "--dbname service=tacitus /var")
            machine.run(find_commands("docker compose exec -T postgres pg_restore"))

        Drill(client, chain, signer).run(
            back_up, lambda: machine.run(find_commands("docker compose stop")), restore
        )
        _check_attester(machine, signer)


def _health_check(repository: Path) -> list[str]:
    compose = yaml.safe_load((repository / "compose.yaml").read_text())
    kind: str
    command: list[str]
    kind, *command = compose["services"]["postgres"]["healthcheck"]["test"]
    assert kind == "CMD"
    return command


def _check_attester(machine: Machine, signer: str) -> None:
    """Start an attester beside the other services, on the restored database."""
    shutil.copy(machine.folder / "secrets/signer_key", machine.folder / "secrets/attester_key")
    with (machine.folder / ".env").open("a") as settings:
        settings.write(f"ATTEST_SOURCE=1\nATTEST_DESTINATION={CHAIN_ID}\n")
    with (machine.folder / "config/routes.toml").open("a") as routes:
        routes.write(
            '\n[chains.1]\nname = "Another"\nnodes = ["http://127.0.0.1:1"]\n\n[[registries]]\n'
            f'kind = "attested"\nsource = 1\ndestination = {CHAIN_ID}\n'
            f'signers = ["{signer}"]\nthreshold = 1\n'
        )
    machine.run("docker compose --profile attester up --detach")
    log = machine.state / "attester-0.log"
    wait_until(lambda: f"Signing as {signer}" in log.read_text(), what="the attester starts")


def _run_without_containers(machine: Machine, postgres: Postgres, part: str) -> None:
    """Run the guide's commands for PostgreSQL's own programs, with a service file."""
    (machine.folder / "var/backups/tacitus").mkdir(parents=True, exist_ok=True)
    write_stand_in(machine.folder, "systemctl", "")
    file = machine.folder / "pg_service.conf"
    file.write_text(
        f"[tacitus]\nhost=127.0.0.1\nport={postgres.port}\nuser=tacitus\ndbname=tacitus\n"
        f"password={postgres.environment['PGPASSWORD']}\n"
    )
    commands = find_commands(part).replace("/var/backups", f"{machine.folder}/var/backups")
    machine.run(commands.replace("/etc/tacitus/pg_service.conf", str(file)))
