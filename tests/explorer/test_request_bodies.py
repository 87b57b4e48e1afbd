"""What is too large is refused by its length, and not written to the disk first."""

import pytest
from django.conf import LazySettings
from django.test import Client

from explorer.middleware import LARGEST_FORM
from tests.explorer.form_of_a_batch import ADDRESS

FORM = "application/x-www-form-urlencoded"
FORM_WITH_FILES = "multipart/form-data; boundary=x"
FORMS = ["/keys", "/sign-out", "/sign-in", "/admin/login/", "/nowhere"]
BROWSER = {"Accept": "text/html"}


@pytest.mark.no_database
@pytest.mark.parametrize("path", FORMS)
def test_it_is_refused_with_a_page_or_in_json(settings: LazySettings, path: str) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    client = Client(enforce_csrf_checks=True)
    page = client.post(path, b"y" * 101, content_type="text/plain", headers=BROWSER)
    assert page.status_code == 413
    assert "This request is too large" in page.text
    assert "Content-Security-Policy" in page
    told = client.post(path, b"y" * 101, content_type="application/json")
    assert (told.status_code, told.json()["code"]) == (413, "body_too_large")


@pytest.mark.no_database
@pytest.mark.parametrize("path", FORMS)
def test_a_form_is_small_unless_it_is_a_new_batchs(path: str) -> None:
    client = Client(enforce_csrf_checks=True)
    form = b"x=" + b"%" * (LARGEST_FORM - 1)
    page = client.post(path, form, content_type=FORM, headers=BROWSER)
    assert page.status_code == 413
    assert "This request is too large" in page.text
    told = client.post(path, form, content_type=f"{FORM.upper()}; charset=utf-8")
    assert (told.status_code, told.json()["code"]) == (413, "body_too_large")


@pytest.mark.no_database
@pytest.mark.parametrize("path", [*FORMS, ADDRESS])
@pytest.mark.parametrize("kind", [FORM_WITH_FILES, f" {FORM_WITH_FILES.upper()}"])
def test_a_form_with_files_is_not_read(path: str, kind: str) -> None:
    """A thousand parts of such headers take Django a second."""
    form = 9 * (b'--x\r\nX: a;x="' + 900 * b";" + b'"\r\n\r\n\r\n') + b"--x--"
    client = Client(enforce_csrf_checks=True)
    page = client.post(path, form, content_type=kind, headers=BROWSER)
    assert page.status_code == 415
    assert "No form here sends files" in page.text
    told = client.post(path, form, content_type=kind)
    assert (told.status_code, told.json()["code"]) == (415, "content_type_unsupported")
