"""Clients generated from /openapi.json estimate, submit, poll and list."""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import requests

from tests.commands import run_program
from tests.rigs.service import HOLDER, HOLDER_BALANCE, Service

pytestmark = pytest.mark.either_database

HERE = Path(__file__).parent
JS = HERE.parent / "js"
PROGRAMS = JS / "node_modules" / ".bin"
ABSENCE = "ABSENT_TRANSACTION:1000"


def run(*arguments: object, folder: Path) -> str:
    python_path = {"PYTHONPATH": str(folder)}
    result = run_program(
        [str(argument) for argument in arguments], cwd=folder, env=os.environ | python_path
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def download_openapi(service: Service, folder: Path) -> Path:
    file = folder / "openapi.json"
    file.write_bytes(requests.get(f"{service.url}/openapi.json", timeout=30).content)
    return file


def client_arguments(service: Service) -> list[object]:
    block = service.chain.mine(2) - 1
    return [service.url, service.keys[0], service.chain.id, block, HOLDER]


def check(report: dict[str, Any], service: Service) -> None:
    values = {name: int(value, 16) for name, value in report["values"].items()}
    proposer = int(service.chain.header("latest")["miner"], 16)
    assert values == {"PROPOSER": proposer, "BALANCE": HOLDER_BALANCE, ABSENCE: 1}
    assert report["events"] == [ABSENCE]
    assert (report["status"], report["refused"]) == ("DONE", "batch_unknown")
    assert report["submitted"] in report["listed"]
    verified = {name: int(value, 16) for name, value in report["verified"].items()}
    assert (report["free"], verified) == (True, values)


def test_a_python_client_made_by_openapi_python_client(
    shared_service: Service, tmp_path: Path
) -> None:
    generator = Path(sys.executable).parent / "openapi-python-client"
    options = ("--meta", "none", "--output-path", tmp_path / "tacitus_api", "--fail-on-warning")
    run(
        generator,
        "generate",
        "--path",
        download_openapi(shared_service, tmp_path),
        *options,
        folder=tmp_path,
    )
    output = run(
        sys.executable,
        HERE / "generated_client.py",
        *client_arguments(shared_service),
        folder=tmp_path,
    )
    check(json.loads(output), shared_service)


def test_a_typescript_client_made_by_openapi_typescript(
    shared_service: Service, tmp_path: Path
) -> None:
    """The TypeScript compiler checks its types first."""
    for name in ("client.ts", "tsconfig.json", "package.json"):
        shutil.copy(JS / name, tmp_path)
    (tmp_path / "node_modules").symlink_to(JS / "node_modules")
    types = tmp_path / "openapi.d.ts"
    run(
        PROGRAMS / "openapi-typescript",
        download_openapi(shared_service, tmp_path),
        "-o",
        types,
        folder=tmp_path,
    )
    run(PROGRAMS / "tsc", folder=tmp_path)
    check(
        json.loads(run("node", "client.ts", *client_arguments(shared_service), folder=tmp_path)),
        shared_service,
    )


def test_typescript_clients_made_by_orval_and_hey_api_compile(
    shared_service: Service, tmp_path: Path
) -> None:
    """No name of a parameter or schema is one that the generators use for something else."""
    (tmp_path / "node_modules").symlink_to(JS / "node_modules")
    description = download_openapi(shared_service, tmp_path)
    orval = ("--input", description, "--output", "orval.ts", "--client", "fetch")
    run(PROGRAMS / "orval", *orval, folder=tmp_path)
    run(PROGRAMS / "openapi-ts", "--input", description, "--output", "hey_api", folder=tmp_path)
    options = ("--strict", "--noEmit", "--target", "es2022", "--module", "preserve")
    environment = ("--lib", "es2022,dom,dom.iterable", "--types", "node")
    compiler = PROGRAMS / "tsc"
    run(compiler, *options, *environment, "orval.ts", "hey_api/index.ts", folder=tmp_path)
