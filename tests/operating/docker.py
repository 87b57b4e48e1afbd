"""Stands in for Docker, which tests cannot have: `python -m tests.operating.docker ARGUMENTS`.

It runs a container's command with the settings, secrets and files of `compose.yaml` and the
Dockerfile, without privileges, on a read-only copy of the image's files. The working directory has
`compose.yaml`; DOCKER_STATE names a folder whose `hosts.json` maps the names and ports of
containers to this machine's.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from itertools import dropwhile
from pathlib import Path
from typing import Any

import yaml

from tests.operating import background

HERE, STATE = Path.cwd(), Path(os.environ["DOCKER_STATE"])
IMAGE, STATIC_ROOT = STATE / "image", STATE / "collected"
PYTHON = Path(sys.executable).parent
VALUE = re.compile(r"\$\{(\w+)(?::([?-])([^}]*))?\}")
# Without capabilities, files' modes apply to root too.
UNPRIVILEGED = ["setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
PREFIX = UNPRIVILEGED if os.geteuid() == 0 else []
HEALTH_SECONDS = 60  # seconds


def main(arguments: list[str]) -> int:
    match arguments:
        case ["compose", "build"]:
            _build()
        case ["run", *rest]:
            start = rest.index("tacitus") + 1
            (outside, inside) = rest[rest.index("--volume") + 1].split(":")
            command = [argument.replace(inside, outside) for argument in rest[start:]]
            return _run(command, _image_environment())
        case ["compose", "run", *rest]:
            name, *command = _skip_options(rest)
            return _run([_on_this_machine(name, word) for word in command], _environment(name))
        case ["compose", "exec", *rest]:
            name, *command = _skip_options(rest)
            assert name == "postgres"
            return _run(command, _hosts()["postgres"])
        case ["compose", *rest] if "up" in rest:
            profiles = [rest[1]] if rest[0] == "--profile" else []
            _up(profiles)
        case ["compose", "stop", *names]:
            for name in names:
                background.stop(f"{name}-*", STATE)
        case _:
            sys.exit(f"The stand-in does not know: docker {shlex.join(arguments)}")
    return 0


def _skip_options(arguments: list[str]) -> list[str]:
    return list(dropwhile(lambda argument: argument.startswith("-"), arguments))


# The image


def _instructions() -> list[list[str]]:
    """Return the instructions of the Dockerfile's last stage."""
    text = (HERE / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line.split(" ", 1) for line in text.splitlines() if re.match("[A-Z]+ ", line)]
    last = max(n for n, (word, _) in enumerate(lines) if word == "FROM")
    return lines[last:]


def _build() -> None:
    IMAGE.mkdir()
    STATIC_ROOT.mkdir()
    for word, rest in _instructions():
        if word == "COPY" and not rest.startswith("--from"):
            *sources, target = rest.split()
            for source in sources:
                _copy(HERE / source, IMAGE / target)
        if word == "RUN" and "manage.py" in rest:
            command = ["bash", "-c", rest]
            subprocess.run(command, cwd=IMAGE, env=_image_environment(), check=True)
    subprocess.run(["chmod", "-R", "a-w", IMAGE, STATIC_ROOT], check=True)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        ignored = shutil.ignore_patterns("node_modules", "__pycache__")  # as .dockerignore
        shutil.copytree(source, target, ignore=ignored)
    else:
        shutil.copy(source, target)


def _image_environment() -> dict[str, str]:
    """Return the variables that the image sets."""
    text = " ".join(rest for word, rest in _instructions() if word == "ENV")
    variables = dict(pair.split("=", 1) for pair in shlex.split(text))
    path = f"{PYTHON}:{os.environ['PATH']}"
    return variables | {"PATH": path, "STATIC_ROOT": str(STATIC_ROOT)}


def _default_command() -> list[str]:
    (text,) = [rest for word, rest in _instructions() if word == "CMD"]
    command: list[str] = json.loads(text)
    return command


# The services


def _settings() -> dict[str, str]:
    lines = (HERE / ".env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line)


def _compose() -> Any:
    settings = _settings()

    def value(match: re.Match[str]) -> str:
        name, kind, default = match.groups()
        if settings.get(name) or kind == "-":
            return settings.get(name) or default
        sys.exit(f"{name}: {default}")

    return yaml.safe_load(VALUE.sub(value, (HERE / "compose.yaml").read_text()))


def _hosts() -> Any:
    return json.loads((STATE / "hosts.json").read_text())


def _on_this_machine(service: str, text: str) -> str:
    """Replace a container's folders, hosts and ports by this machine's."""
    folders = {
        "/run/secrets": STATE / "secrets" / service,
        "/etc/tacitus": HERE / "config",
        "0.0.0.0": "127.0.0.1",
    }
    for inside, outside in (folders | _hosts()["names"]).items():
        text = text.replace(inside, str(outside))
    return text


def _environment(name: str) -> dict[str, str]:
    """Write the service's secrets to files, and return its variables."""
    compose = _compose()
    service = compose["services"][name]
    assert service["env_file"] == [{"path": ".env", "required": False}]
    for secret in service["secrets"]:
        file = STATE / "secrets" / name / secret
        if not file.exists():  # a running service may be reading it
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(
                _on_this_machine(name, (HERE / compose["secrets"][secret]["file"]).read_text())
            )
    variables = _image_environment() | _settings() | service["environment"]
    return {key: _on_this_machine(name, value) for key, value in variables.items()}


def _run(command: list[str], environment: dict[str, str]) -> int:
    environment = {"PATH": os.environ["PATH"]} | environment
    cwd = IMAGE if command[0] == "python" else HERE
    return subprocess.run(PREFIX + command, cwd=cwd, env=environment, check=False).returncode


def _up(profiles: list[str]) -> None:
    for name, service in _compose()["services"].items():
        if "build" not in service or not set(service.get("profiles", [])) <= set(profiles):
            continue
        command = service.get("command") or _default_command()
        command = shlex.split(command) if isinstance(command, str) else command
        command = [_on_this_machine(name, word) for word in command]
        if service["restart"].startswith("on-failure:"):
            attempts = range(int(service["restart"].partition(":")[2]))
            assert any(_run(command, _environment(name)) == 0 for _ in attempts), f"{name} fails"
            continue
        for number in range(service.get("deploy", {}).get("replicas", 1)):
            process = f"{name}-{number}"
            if not (STATE / f"{process}.pid").exists():
                background.start(process, PREFIX + command, IMAGE, _environment(name), STATE)
        if "healthcheck" in service:
            _await_health(name, service["healthcheck"]["test"])


def _await_health(name: str, test: list[str]) -> None:
    kind, *command = test
    assert kind == "CMD"
    deadline = time.monotonic() + HEALTH_SECONDS
    command = [_on_this_machine(name, word) for word in command]
    while _run(command, _environment(name)) != 0:
        assert time.monotonic() < deadline, (STATE / f"{name}-0.log").read_text()
        time.sleep(0.2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
