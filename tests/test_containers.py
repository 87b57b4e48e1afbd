"""Image and compose file do what the README and CI do without containers."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.test_layers import TOP_LEVEL

pytestmark = pytest.mark.no_database

# What is said otherwise in a container: where it listens, and how much it says.
OF_CONTAINERS = re.compile(r" --no-cache-dir| --verbosity 0| --host \S+")


@pytest.fixture
def compose(repository: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((repository / "compose.yaml").read_text())
    return content


@pytest.fixture
def dockerfile(repository: Path) -> str:
    return (repository / "Dockerfile").read_text().replace("\\\n", "")


@pytest.fixture
def shown(repository: Path) -> set[str]:
    """The commands in the README's part for operators."""
    part = (repository / "README.md").read_text().partition("## Running it for others")[2]
    blocks = re.findall(r"```\n(.*?)```", part, re.DOTALL)
    return {_plain(line) for block in blocks for line in block.splitlines()}


def _plain(command: str) -> str:
    return OF_CONTAINERS.sub("", command)


def test_the_images_commands_are_the_readmes(dockerfile: str, shown: set[str]) -> None:
    ran = re.findall(r"^RUN .*?(python -m pip .*|python manage\.py .*)$", dockerfile, re.MULTILINE)
    begun = re.findall(r"^CMD (.*)$", dockerfile, re.MULTILINE)
    assert len(ran) == 2
    assert len(begun) == 1
    started = shlex.join(yaml.safe_load(begun[0]))
    assert {_plain(command) for command in (*ran, started)} <= shown


def test_each_services_command_is_the_readmes(compose: dict[str, Any], shown: set[str]) -> None:
    ours = {name: each for name, each in compose["services"].items() if "build" in each}
    assert set(ours) == {"migrate", "web", "prover"}
    commands = {shlex.join(each["command"]) for each in ours.values() if "command" in each}
    assert commands == {"python manage.py migrate", "python manage.py run_prover"}
    assert commands <= shown


def test_its_variables_are_settings(repository: Path, compose: dict[str, Any]) -> None:
    table = re.findall(
        r"^\| `([A-Z_]+)`(?: or `([A-Z_]+)`)?", (repository / "README.md").read_text(), re.MULTILINE
    )
    settings = {name for row in table for name in row}
    for name, each in compose["services"].items():
        if "build" in each:
            assert set(each["environment"]) <= settings, name


def test_each_file_that_is_named_is_there(compose: dict[str, Any]) -> None:
    mounted = {volume.split(":")[1] for volume in compose["x-tacitus"]["volumes"]}
    for name, each in compose["services"].items():
        secrets = {f"/run/secrets/{secret}" for secret in each.get("secrets", [])}
        for variable, value in each.get("environment", {}).items():
            if variable.endswith("_FILE"):
                assert value in secrets | mounted, (name, variable)
        assert set(each.get("secrets", [])) <= set(compose["secrets"]), name


def test_no_password_is_one_that_everyone_knows(repository: Path, compose: dict[str, Any]) -> None:
    """Each is made by the README's lines, and stands in a file that they write."""
    text = (repository / "compose.yaml").read_text()
    assert not re.search(r"://[^\s/@]*:[^\s/@]*@", text)
    named = {each["file"] for each in compose["secrets"].values()}
    named.update(*(each.get("env_file", []) for each in compose["services"].values()))
    part = (repository / "README.md").read_text().partition("### With containers")[2]
    written = re.findall(r"> (\w+(?:\.env)?)\)?$", part, re.MULTILINE)
    assert named == {f"secrets/{name}" for name in written}
    broker, database = compose["services"]["rabbitmq"], compose["services"]["postgres"]
    assert broker["env_file"] == ["secrets/rabbitmq.env"]
    assert "RABBITMQ_DEFAULT_USER=tacitus\\nRABBITMQ_DEFAULT_PASS=%s" in part
    (given,) = (name for name in database["environment"] if "PASSWORD" in name)
    assert given.endswith("_FILE")
    assert part.count("secrets.token_urlsafe(") == 3


def test_only_the_prover_holds_the_key_that_pays(compose: dict[str, Any]) -> None:
    holders = [
        name
        for name, each in compose["services"].items()
        if "signer_key" in each.get("secrets", [])
    ]
    assert holders == ["prover"]


def test_the_image_holds_the_house_and_no_more(repository: Path, dockerfile: str) -> None:
    folders = {each for each in TOP_LEVEL if (repository / each).is_dir() and each[0] != "."}
    copied = set(re.findall(r"^COPY (\w+) \1$", dockerfile, re.MULTILINE))
    assert copied == folders - {"tests"}
    sent = re.findall(r"^!(.*)$", (repository / ".dockerignore").read_text(), re.MULTILINE)
    assert set(sent) == copied | {"requirements.txt", "manage.py", "pyproject.toml"}


def test_it_does_not_run_as_root(dockerfile: str, compose: dict[str, Any]) -> None:
    user = re.search(r"^USER (\d+)$", dockerfile, re.MULTILINE)
    assert user
    assert f"--uid {user[1]} " in dockerfile
    assert dockerfile.index("USER ") > dockerfile.index("RUN SECRET_KEY")
    for name, each in compose["services"].items():
        if "build" in each:
            assert each["read_only"] is True, name
            assert each["cap_drop"] == ["ALL"], name
            assert "user" not in each, name


def test_answers_wait_for_their_readers_on_the_disk(compose: dict[str, Any]) -> None:
    """Where Python puts files that leave the memory: in the web server a volume; what others have
    there is memory, and little.
    """
    for name, each in compose["services"].items():
        if "build" in each:
            mounted = dict(volume.split(":")[:2][::-1] for volume in each["volumes"])
            is_web = name == "web"
            assert (mounted.get("/tmp") in compose["volumes"]) is is_web, name  # noqa: S108
            assert each["tmpfs"] == ([] if is_web else ["/tmp:size=64m"]), name  # noqa: S108
            assert "/etc/tacitus/routes.toml" in mounted, name
            assert not {"TMPDIR", "TEMP", "TMP"} & set(each["environment"]), name


def test_its_python_is_one_that_the_project_takes(repository: Path, dockerfile: str) -> None:
    images = set(re.findall(r"^FROM python:(\d+\.\d+)-slim", dockerfile, re.MULTILINE))
    least = re.search(
        r'requires-python = ">=([\d.]+)"', (repository / "pyproject.toml").read_text()
    )
    assert least
    assert images == {least[1]}


def test_ci_installs_by_the_same_hashes_and_runs_the_same_commands(repository: Path) -> None:
    """CI sets up with the Makefile; tests of the demo start the programs that containers start."""
    assert "\nmake setup\n" in (repository / ".ci" / "run").read_text()
    makefile = (repository / "Makefile").read_text()
    assert re.search(
        r"pip install .*--require-hashes --requirement requirements-dev\.txt", makefile
    )
    started = (repository / "explorer" / "demo" / "service.py").read_text()
    for command in ("migrate", "serve", "run_prover"):
        assert f'"{command}"' in started
