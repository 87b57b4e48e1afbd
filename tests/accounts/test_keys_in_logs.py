"""No line that a server writes holds a key, whichever way and however wrongly it was sent."""

import json
from pathlib import Path
from urllib.parse import quote

import pytest
import requests

from tests.commands import PRODUCTION, Manage
from tests.served import PROXY, served

pytestmark = pytest.mark.no_database
WALLET = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"


def test_a_key_is_struck_out(repository: Path, tmp_path: Path, manage: Manage) -> None:
    variables = {**PRODUCTION, "BEHIND_PROXY": "1", "STATIC_ROOT": str(tmp_path / "static")}
    assert manage("collectstatic", "--no-input", **variables).returncode == 0
    assert manage("migrate", **variables).returncode == 0
    made = manage("create_api_key", "--owner", WALLET, **variables)
    assert (made.returncode, made.stderr) == (0, "")
    key = made.stdout.strip()
    wrong = f"{key[:-4]}aaaa"

    with served(repository, tmp_path, LOG_LEVEL="DEBUG", **variables) as address:

        def ask(path: str, **headers: str) -> int:
            return requests.get(
                f"{address}{path}", headers={**PROXY, **headers}, timeout=10
            ).status_code

        assert ask("/api-key", **{"api-key": key}) == 200
        assert ask(f"/api-key?apiKey={key}") == 200
        assert ask(f"/api-key?apiKey={wrong}", **{"api-key": wrong}) == 401
        assert ask("/api-key?apiKey=" + quote(key.replace("_", "%5F"))) == 401
        assert ask(f"/api-key/{key}") == 404
        assert ask(f"/nowhere?{key}", Referer=f"https://x.example/?apiKey={key}") == 404
        plain = requests.get(f"{address}/api-key?apiKey={key}", allow_redirects=False, timeout=10)
        assert plain.status_code == 400

    log = (tmp_path / "log").read_text()
    for secret in (key, wrong, key.rpartition("_")[2], wrong.rpartition("_")[2]):
        assert secret not in log
    paths = [line["path"] for line in map(json.loads, log.splitlines()) if "path" in line]
    assert "/api-key" in paths
    assert "/api-key?apiKey=[struck-out]" in paths
