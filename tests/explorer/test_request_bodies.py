"""What is too large is refused by its length, and not written to the disk first."""

import socket
import time
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import Client

from tests.served import served

FORM = "multipart/form-data; boundary=x"


@pytest.mark.no_database
@pytest.mark.parametrize("path", ["/keys", "/sign-out", "/sign-in", "/admin/login/", "/nowhere"])
def test_it_is_refused_with_a_page_or_in_json(settings: LazySettings, path: str) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    client = Client(enforce_csrf_checks=True)
    page = client.post(path, b"y" * 101, content_type=FORM, headers={"Accept": "text/html"})
    assert page.status_code == 413
    assert "This is larger than anything that is read here" in page.text
    assert "Content-Security-Policy" in page
    told = client.post(path, b"y" * 101, content_type="application/json")
    assert (told.status_code, told.json()["code"]) == (413, "body_too_large")


@pytest.mark.no_database
def test_what_is_just_small_enough_is_read(settings: LazySettings) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    assert Client().post("/nowhere", b"y" * 100, content_type="text/plain").status_code == 404


@pytest.mark.no_database
def test_a_server_answers_before_the_body_comes(repository: Path, tmp_path: Path) -> None:
    with served(repository, tmp_path, DEVELOPMENT="1") as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as asking:
            head = (
                f"POST /sign-out HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: text/html\r\n"
                f"Content-Type: {FORM}\r\nContent-Length: 80000000\r\n\r\n--x\r\n"
            )
            begin = time.monotonic()
            asking.sendall(head.encode())
            assert asking.recv(100).startswith(b"HTTP/1.1 413 ")
            assert time.monotonic() < begin + 5
