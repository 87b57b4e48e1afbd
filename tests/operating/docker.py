"""Stands in for Docker, which tests cannot have: `python -m tests.operating.docker ARGUMENTS`.

It runs what the container would run, with the settings, secrets and files that `compose.yaml` and
the Dockerfile give it: without privileges, on a read-only copy of the image's files. The working
directory holds `compose.yaml`; DOCKER_STATE names a folder whose `hosts.json` says what to write
for the names and ports of containers.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from tests.operating import background

HERE, STATE = Path.cwd(), Path(os.environ["DOCKER_STATE"])
IMAGE, COLLECTED = STATE / "image", STATE / "collected"
PYTHON = Path(sys.executable).parent
VALUE = re.compile(r"\$\{(\w+)(?::([?-])([^}]*))?\}")
# No capability is left, so that root too is refused what the files' modes refuse.
UNPRIVILEGED = ["setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]
PREFIX = UNPRIVILEGED if os.geteuid() == 0 else []
HEALTHY_WITHIN = 60  # seconds


def main(arguments: list[str]) -> int:
    match arguments:
        case ["compose", "build"]:
            _build()
        case ["run", *rest]:
            place = rest.index("tacitus")
            (outside, inside) = rest[rest.index("--volume") + 1].split(":")
            command = [each.replace(inside, outside) for each in rest[place + 1 :]]
            return _run(command, _of_the_image())
        case ["compose", "run", *rest]:
            name, *command = _without_options(rest)
            return _run([_here(name, each) for each in command], _environment(name))
        case ["compose", "exec", *rest]:
            name, *command = _without_options(rest)
            assert name == "postgres"
            return _run(command, _hosts()["postgres"])
        case ["compose", *rest] if "up" in rest:
            profiles = [rest[1]] if rest[0] == "--profile" else []
            _up(profiles)
        case ["compose", "stop", *names]:
            for name in names:
                background.stop(f"{name}-*", STATE)
        case _:
            sys.exit(f"Not understood here: docker {shlex.join(arguments)}")
    return 0


def _without_options(arguments: list[str]) -> list[str]:
    return arguments[next(n for n, each in enumerate(arguments) if not each.startswith("-")) :]


# The image


def _instructions() -> list[list[str]]:
    """Of the Dockerfile's last stage."""
    text = (HERE / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line.split(" ", 1) for line in text.splitlines() if re.match("[A-Z]+ ", line)]
    last = max(n for n, (word, _) in enumerate(lines) if word == "FROM")
    return lines[last:]


def _build() -> None:
    IMAGE.mkdir()
    COLLECTED.mkdir()
    for word, rest in _instructions():
        if word == "COPY" and not rest.startswith("--from"):
            *sources, target = rest.split()
            for source in sources:
                _copy(HERE / source, IMAGE / target)
        if word == "RUN" and "manage.py" in rest:
            command = ["bash", "-c", rest]
            subprocess.run(command, cwd=IMAGE, env=_of_the_image(), check=True)
    subprocess.run(["chmod", "-R", "a-w", IMAGE, COLLECTED], check=True)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        left_out = shutil.ignore_patterns("node_modules", "__pycache__")  # as .dockerignore
        shutil.copytree(source, target, ignore=left_out)
    else:
        shutil.copy(source, target)


def _of_the_image() -> dict[str, str]:
    """The variables that it sets, and no others."""
    text = " ".join(rest for word, rest in _instructions() if word == "ENV")
    own = dict(each.split("=", 1) for each in shlex.split(text))
    path = f"{PYTHON}:{os.environ['PATH']}"
    return own | {"PATH": path, "STATIC_ROOT": str(COLLECTED)}


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

    def value(found: re.Match[str]) -> str:
        name, kind, otherwise = found.groups()
        if settings.get(name) or kind == "-":
            return settings.get(name) or otherwise
        sys.exit(f"{name}: {otherwise}")

    return yaml.safe_load(VALUE.sub(value, (HERE / "compose.yaml").read_text()))


def _hosts() -> Any:
    return json.loads((STATE / "hosts.json").read_text())


def _here(service: str, text: str) -> str:
    """A text of the container's, with this machine's folders, hosts and ports in it."""
    folders = {
        "/run/secrets": STATE / "secrets" / service,
        "/etc/tacitus": HERE / "config",
        "0.0.0.0": "127.0.0.1",  # noqa: S104
    }
    for inside, outside in (folders | _hosts()["names"]).items():
        text = text.replace(inside, str(outside))
    return text


def _environment(name: str) -> dict[str, str]:
    """All that the service is given; its secrets are written to files."""
    compose = _compose()
    service = compose["services"][name]
    assert service["env_file"] == [{"path": ".env", "required": False}]
    for secret in service["secrets"]:
        file = STATE / "secrets" / name / secret
        if not file.exists():  # else a service may be reading it
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_here(name, (HERE / compose["secrets"][secret]["file"]).read_text()))
    given = _of_the_image() | _settings() | service["environment"]
    return {key: _here(name, value) for key, value in given.items()}


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
        command = [_here(name, each) for each in command]
        if service["restart"].startswith("on-failure:"):
            tries = range(int(service["restart"].partition(":")[2]))
            assert any(_run(command, _environment(name)) == 0 for _ in tries), f"{name} fails"
            continue
        for number in range(service.get("deploy", {}).get("replicas", 1)):
            if not (STATE / f"{name}-{number}.pid").exists():
                own = f"{name}-{number}"
                background.start(own, PREFIX + command, IMAGE, _environment(name), STATE)
        if "healthcheck" in service:
            _await_health(name, service["healthcheck"]["test"])


def _await_health(name: str, test: list[str]) -> None:
    kind, *command = test
    assert kind == "CMD"
    until = time.monotonic() + HEALTHY_WITHIN
    command = [_here(name, each) for each in command]
    while _run(command, _environment(name)) != 0:
        assert time.monotonic() < until, (STATE / f"{name}-0.log").read_text()
        time.sleep(0.2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
