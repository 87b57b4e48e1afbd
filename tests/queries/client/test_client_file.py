"""The client as it is served, and that it needs nothing but requests."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import requests
from django.test import Client

from tests.commands import Manage, run_program

pytestmark = pytest.mark.no_database

REQUIRED_PACKAGES = ("requests", "urllib3", "idna", "certifi", "charset_normalizer")
# The regular expression of PEP 723.
METADATA = re.compile(r"(?m)^# /// script$\s(?P<content>(^#(| .*)$\s)+)^# ///$")


def test_the_command_joins_the_file_that_the_server_serves(manage: Manage, tmp_path: Path) -> None:
    ended = manage("build_client", "--output", str(tmp_path), DEVELOPMENT="1")
    assert ended.returncode == 0, ended.stderr
    answer = Client().get("/tacitus.py")
    assert answer.content.decode() == (tmp_path / "tacitus.py").read_text()
    assert answer["Content-Type"] == "text/x-python; charset=utf-8"
    assert answer["Access-Control-Allow-Origin"] == "*"
    assert "Set-Cookie" not in answer


def test_the_script_metadata_names_python_and_requests(repository: Path) -> None:
    match = METADATA.search(Client().get("/tacitus.py").content.decode())
    assert match
    metadata = tomllib.loads(re.sub(r"(?m)^# ?", "", match["content"]))
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    assert metadata["requires-python"] == project["requires-python"]
    (dependency,) = metadata["dependencies"]
    assert dependency.startswith("requests>=")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with only the client and requests."""
    packages = Path(requests.__file__).parent.parent
    (tmp_path / "packages").mkdir()
    for name in REQUIRED_PACKAGES:
        (tmp_path / "packages" / name).symlink_to(packages / name)
    (tmp_path / "tacitus.py").write_bytes(Client().get("/tacitus.py").content)
    return tmp_path


def run_isolated(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    """Run it without access to this environment's packages and this repository."""
    paths = [str(folder / "packages"), str(folder)]
    isolated = [sys.executable, "-I", "-S", "-W", "error"]
    return run_program(
        [*isolated, "-c", f"import sys; sys.path += {paths}; {source}"], cwd=folder, env={}
    )


def test_the_client_depends_only_on_the_requests_package(folder: Path) -> None:
    assert "No module named 'django'" in run_isolated(folder, "import django").stderr
    key = "tacitus.mapping_key('uint256', 7)"
    module = f"import tacitus; print(tacitus.Position(3).mapping({key}).slot)"
    command = "import runpy; sys.argv = ['tacitus.py', 'slot', '3', '--key', '7']; "
    command += "runpy.run_path('tacitus.py', run_name='__main__')"
    as_module, as_command = run_isolated(folder, module), run_isolated(folder, command)
    assert (as_module.stderr, as_command.stderr) == ("", "")
    assert int(as_command.stdout, 16) == int(as_module.stdout)
