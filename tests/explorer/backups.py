"""Backups of the database under test, by the commands that the guide shows."""

import html
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from django.db import connection
from django.test import Client

FILE = "tacitus.sqlite3"
PROGRAM = re.compile(r"^(?=(?:\(umask \d+; )?(\w+))(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Guide:
    """What that part of the guide shows: a file, and each command by its program."""

    service_file: str
    commands: dict[str, str]


def guide() -> Guide:
    page = Client().get("/docs/operating").text.partition('id="backups"')[2].partition("<h2")[0]
    shown = re.findall(r"<pre.*?<code>(.*?)</code>", page, re.DOTALL)
    service_file, commands = map(html.unescape, shown)
    return Guide(service_file, dict(PROGRAM.findall(commands)))


@dataclass(frozen=True)
class Backups:
    """Of the database of this name, or of the SQLite file in `folder`/var."""

    folder: Path
    name: str
    guide: Guide

    def back_up(self) -> None:
        self._run("python" if connection.vendor == "sqlite" else "pg_dump")

    def made(self) -> Path:
        """The file."""
        (made,) = self.folder.glob("var/backup-*" if connection.vendor == "sqlite" else "*.dump")
        return made

    def bring_back(self) -> None:
        if connection.vendor != "sqlite":
            self._run("pg_restore")
            return
        for each in (self.folder / "var").glob(f"{FILE}*"):
            each.unlink()
        shutil.copy(self.made(), self.folder / "var" / FILE)

    def _run(self, program: str) -> None:
        """Nothing but the guide's file tells the server and its password."""
        file = self.folder / "pg_service.conf"
        file.write_text(self._service_file())
        subprocess.run(  # noqa: S602  (as a reader's shell takes it)
            self.guide.commands[program],
            shell=True,
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "PGSERVICEFILE": str(file)},
            check=True,
            timeout=60,
        )

    def _service_file(self) -> str:
        known = connection.settings_dict
        of_the_server = {name: str(known[name.upper()]) for name in ("host", "user", "password")}
        told = {"port": str(known["PORT"] or 5432), "dbname": self.name, **of_the_server}
        return re.sub(
            r"^(\w+)=.*$",
            lambda line: f"{line[1]}={told[line[1]]}",
            self.guide.service_file,
            flags=re.MULTILINE,
        )
