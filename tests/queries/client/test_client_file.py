"""The client as it is served, and where nothing is but that file and requests."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import requests
from django.test import Client

from queries.client import tacitus

pytestmark = pytest.mark.no_database

FILE = Path(tacitus.__file__)
NEEDED = ("requests", "urllib3", "idna", "certifi", "charset_normalizer")
# As PEP 723 finds it.
METADATA = re.compile(r"(?m)^# /// script$\s(?P<content>(^#(| .*)$\s)+)^# ///$")


def test_every_server_serves_its_own() -> None:
    answer = Client().get("/tacitus.py")
    assert answer.content == FILE.read_bytes()
    assert answer["Content-Type"] == "text/x-python; charset=utf-8"
    assert answer["Access-Control-Allow-Origin"] == "*"
    assert "Set-Cookie" not in answer


def test_it_names_what_it_needs_for_tools_that_run_scripts(repository: Path) -> None:
    found = METADATA.search(FILE.read_text())
    assert found
    told = tomllib.loads(re.sub(r"(?m)^# ?", "", found["content"]))
    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    assert told["requires-python"] == project["requires-python"]
    assert [re.match(r"\w+", each)[0] for each in told["dependencies"]] == ["requests"]  # type: ignore[index]


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """A folder with that file, one with requests, and nothing of ours."""
    packages = Path(requests.__file__).parent.parent
    (tmp_path / "packages").mkdir()
    for name in NEEDED:
        (tmp_path / "packages" / name).symlink_to(packages / name)
    (tmp_path / "tacitus.py").write_bytes(Client().get("/tacitus.py").content)
    return tmp_path


def run_alone(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    """Isolated, and without site: neither this environment's packages nor this clone is seen."""
    paths = [str(folder / "packages"), str(folder)]
    return subprocess.run(
        [
            sys.executable,
            "-I",
            "-S",
            "-W",
            "error",
            "-c",
            f"import sys; sys.path += {paths}; {source}",
        ],
        cwd=folder,
        env={},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_it_works_alone(alone: Path) -> None:
    said = run_alone(alone, "import django")
    assert "No module named 'django'" in said.stderr
    module = "import tacitus; print(tacitus.Position(3).mapping(tacitus.typed_key('7')).slot)"
    command = "import runpy; sys.argv = ['tacitus.py', 'slot', '3', '--key', '7']; "
    command += "runpy.run_path('tacitus.py', run_name='__main__')"
    as_module, as_command = run_alone(alone, module), run_alone(alone, command)
    assert (as_module.stderr, as_command.stderr) == ("", "")
    assert int(as_command.stdout, 16) == int(as_module.stdout)
