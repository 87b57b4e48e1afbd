"""An installation for tests of commands: a routes file with local nodes, and a signer."""

from collections.abc import Iterable
from io import StringIO
from pathlib import Path

from django.conf import LazySettings
from django.core.management import CommandError, call_command

# The first of Anvil's development keys.
KEY = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
ADDRESS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
CHAIN_ID = 31_337


class LocalSetup:
    def __init__(self, settings: LazySettings, folder: Path) -> None:
        self.file = folder / "routes.toml"
        self.file.write_text("")
        self._settings = settings
        settings.ROUTES_FILE = self.file
        self.sign_with(KEY)

    def sign_with(self, key: str) -> None:
        self._settings.SIGNER_KEY = key
        self._settings.SIGNER_KEYSTORE = self._settings.SIGNER_PASSWORD = ""

    def add_chain(self, chain_id: int, name: str, urls: Iterable[str], *lines: str) -> None:
        nodes = ", ".join(f'"{url}"' for url in urls)
        self.add(f'[chains.{chain_id}]\nname = "{name}"\nnodes = [{nodes}]', *lines)

    def add_registry(
        self, kind: str, source: int, destination: int, address: str = "", *lines: str
    ) -> None:
        """Add a registry; without `address`, provers compute it."""
        chains = f"source = {source}\ndestination = {destination}"
        self.add(f'[[registries]]\nkind = "{kind}"\n{chains}', *lines)
        if address:
            self.add(f'address = "{address}"')

    def add(self, *lines: str) -> None:
        self.file.write_text("\n".join([self.file.read_text(), *lines, ""]))

    def run(self, command: str, *arguments: str) -> str:
        """Return stderr and stdout; the sentence of a failure comes last."""
        progress, result = self.run_apart(command, *arguments)
        return progress + result

    def run_apart(self, command: str, *arguments: str) -> tuple[str, str]:
        """Return stderr, and stdout with the sentence of a failure."""
        if command.startswith("deploy_") and "--dry-run" not in arguments:
            arguments = (*arguments, "--yes")
        out, err = StringIO(), StringIO()
        try:
            call_command(command, *arguments, stdout=out, stderr=err)
        except CommandError as error:
            out.write(f"FAILED: {error}")
        printed = err.getvalue(), out.getvalue()
        for secret in (KEY, "http:", "127.0.0.1"):
            assert secret not in "".join(printed)
        return printed
