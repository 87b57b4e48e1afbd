"""The system checks of our own."""

import sqlite3

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection

pytestmark = pytest.mark.no_database


def test_an_old_sqlite_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    call_command("check")
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 34, 1))
    if connection.vendor != "sqlite":
        call_command("check")
        return
    with pytest.raises(SystemCheckError, match=r"explorer.E001\) This Python comes with SQLite"):
        call_command("check")
