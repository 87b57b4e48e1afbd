"""Clients that two generators make of /openapi.json estimate, submit, poll and list."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.rigs.service import HELD, HOLDER, Service

pytestmark = pytest.mark.either_database

HERE = Path(__file__).parent
JS = HERE.parent / "js"
PROGRAMS = JS / "node_modules" / ".bin"


def run(*arguments: object, folder: Path) -> str:
    searched = {"PYTHONPATH": str(folder)}
    ended = subprocess.run(
        [str(argument) for argument in arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env=os.environ | searched,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def described(service: Service, folder: Path) -> Path:
    file = folder / "openapi.json"
    file.write_bytes(requests.get(f"{service.url}/openapi.json", timeout=30).content)
    return file


def asked(service: Service) -> list[object]:
    block = service.chain.mine(2) - 1
    return [service.url, service.keys[0], service.chain.id, block, HOLDER]


def check(told: dict[str, Any], service: Service) -> None:
    block = int(told["values"][0].pop("PROPOSER"), 16)
    assert block == int(service.chain.header("latest")["miner"], 16)
    assert told["values"] == [{}, {"BALANCE": f"0x{HELD:064x}"}]
    assert (told["status"], told["refused"]) == ("DONE", "batch_unknown")
    assert told["submitted"] in told["listed"]
    verified = {name: int(value, 16) for name, value in told["verified"].items()}
    assert (told["free"], verified) == (True, {"PROPOSER": block, "BALANCE": HELD})


def test_a_python_client_made_by_openapi_python_client(shared: Service, tmp_path: Path) -> None:
    generator = Path(sys.executable).parent / "openapi-python-client"
    made = ("--meta", "none", "--output-path", tmp_path / "tacitus_api", "--fail-on-warning")
    run(generator, "generate", "--path", described(shared, tmp_path), *made, folder=tmp_path)
    said = run(sys.executable, HERE / "generated_client.py", *asked(shared), folder=tmp_path)
    check(json.loads(said), shared)


def test_a_typescript_client_made_by_openapi_typescript(shared: Service, tmp_path: Path) -> None:
    """Its types are checked by the compiler before it runs."""
    for name in ("client.ts", "tsconfig.json", "package.json"):
        shutil.copy(JS / name, tmp_path)
    (tmp_path / "node_modules").symlink_to(JS / "node_modules")
    types = tmp_path / "openapi.d.ts"
    run(PROGRAMS / "openapi-typescript", described(shared, tmp_path), "-o", types, folder=tmp_path)
    run(PROGRAMS / "tsc", folder=tmp_path)
    check(json.loads(run("node", "client.ts", *asked(shared), folder=tmp_path)), shared)
