"""`compose.yaml`, by the commands of the guide: from an empty folder to a restored backup."""

import json
import shutil
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from queries.config.registries import Registry, RegistryKind, address_of
from tests.commands import free_port
from tests.operating import background
from tests.operating.drill import (
    CHAIN_ID,
    Drill,
    chain_of_the_guide,
    client_of,
    funded,
    on_nodes_of,
)
from tests.operating.guide import SUDO, run, shown, stand_in
from tests.operating.postgres import Postgres, own_postgres
from tests.rigs.service import until
from tests.scenarios.test_engines import BROKERS, require_broker

pytestmark = pytest.mark.no_database
_, RABBITMQ = BROKERS


class Machine:
    """A folder like a clone, in which commands find a stand-in for Docker."""

    def __init__(self, repository: Path, folder: Path) -> None:
        self.folder, self.state = folder, folder / "docker"
        self.state.mkdir()
        for name in ("accounts", "explorer", "queries", "static", "templates"):
            (folder / name).symlink_to(repository / name)
        for name in ("manage.py", "pyproject.toml", "SECURITY.md", "Dockerfile", "compose.yaml"):
            shutil.copy(repository / name, folder)
        docker = f'exec {sys.executable} -m tests.operating.docker "$@"'
        stand_in(folder, "docker", docker)
        stand_in(folder, "sudo", SUDO)
        stand_in(folder, "chgrp", "")
        self._environment = {"PYTHONPATH": str(repository), "DOCKER_STATE": str(self.state)}

    def run(self, commands: str) -> str:
        return run(commands, self.folder, self._environment).stdout

    def hosts(self, **hosts: Any) -> None:
        (self.state / "hosts.json").write_text(json.dumps(hosts))


def test_the_commands_of_the_guide_lead_to_a_service_that_survives_a_restore(
    repository: Path, tmp_path: Path
) -> None:
    require_broker(RABBITMQ)
    machine = Machine(repository, tmp_path)
    machine.run(shown("mkdir secrets"))
    password = (tmp_path / "secrets" / "postgres_password").read_text().strip()
    broker = (tmp_path / "secrets" / "celery_broker").read_text()
    with ExitStack() as stack:
        chain = stack.enter_context(closing(chain_of_the_guide()))
        signer = funded(chain, (tmp_path / "secrets" / "signer_key").read_text())
        stack.callback(background.stop, "*", machine.state)
        postgres = stack.enter_context(own_postgres(password))
        with postgres.initialising():
            # Or `migrate` would start, and lose its connection when the image restarts the server.
            assert not postgres.is_healthy(_health_check(repository))
        stack.enter_context(postgres.ready())
        postgres.await_health(_health_check(repository))
        port = str(free_port())
        names = {"@postgres/": f"@127.0.0.1:{postgres.port}/", broker: RABBITMQ, "8000": port}
        machine.hosts(postgres=postgres.environment, names=names)
        machine.run(on_nodes_of(chain, shown("docker compose build")))
        machine.run(shown("prover python manage.py deploy_registry"))
        key = machine.run(shown("docker compose up --detach\ndocker compose run")).split()[-1]
        registry = address_of(Registry(RegistryKind.NATIVE, chain.id, chain.id))
        client = client_of(tmp_path / "client", chain, f"http://127.0.0.1:{port}", key, registry)

        def back_up() -> None:
            machine.run(shown("docker compose exec -T postgres pg_dump"))
            _without_containers(machine, postgres, "pg_dump --format custom --file")

        def restore() -> None:
            _without_containers(machine, postgres, "--dbname service=tacitus /var")
            machine.run(shown("docker compose exec -T postgres pg_restore"))

        Drill(client, chain, signer).passes(
            back_up, lambda: machine.run(shown("docker compose stop")), restore
        )
        _an_attester_starts(machine, signer)


def _health_check(repository: Path) -> list[str]:
    """The command that `compose.yaml` names for PostgreSQL."""
    compose = yaml.safe_load((repository / "compose.yaml").read_text())
    kind: str
    command: list[str]
    kind, *command = compose["services"]["postgres"]["healthcheck"]["test"]
    assert kind == "CMD"
    return command


def _an_attester_starts(machine: Machine, signer: str) -> None:
    """With all others, on the database that was restored."""
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
    until(lambda: f"Signing as {signer}" in log.read_text(), what="the attester starts")


def _without_containers(machine: Machine, postgres: Postgres, part: str) -> None:
    """These commands use PostgreSQL's own programs, which find server and password in a file."""
    (machine.folder / "var/backups/tacitus").mkdir(parents=True, exist_ok=True)
    stand_in(machine.folder, "systemctl", "")
    file = machine.folder / "pg_service.conf"
    file.write_text(
        f"[tacitus]\nhost=127.0.0.1\nport={postgres.port}\nuser=tacitus\ndbname=tacitus\n"
        f"password={postgres.environment['PGPASSWORD']}\n"
    )
    commands = shown(part).replace("/var/backups", f"{machine.folder}/var/backups")
    machine.run(commands.replace("/etc/tacitus/pg_service.conf", str(file)))
