"""How large a form may be, by what its headers say of it."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.urls import reverse

FORM, FORM_WITH_FILES = "application/x-www-form-urlencoded", "multipart/form-data"
LARGEST_FORM = 20_000  # bytes, of any but that of a new batch
# What is encoded is looked at piece by piece when a form is read: a second for 2.5 MB of it. Of
# twice the slots of a batch two for the end of a line, one for each quote and comma, and sixteen
# for the spaces before it, as in JSON that was copied.
MOST_ENCODED = 10_000 + 2 * (5 + 16) * settings.BATCH_SLOTS
# What is shown again, two bytes more for each that is encoded, and the fields' names.
LARGEST_OF_A_BATCH = settings.BATCH_BODY_BYTES + 2 * MOST_ENCODED + LARGEST_FORM


def refused_unread(path: str, kind: str, length: int) -> HTTPStatus | None:
    if length > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    if kind == FORM_WITH_FILES:
        return HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    if kind == FORM and length > (LARGEST_OF_A_BATCH if is_of_a_batch(path) else LARGEST_FORM):
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    return None


def is_of_a_batch(path: str) -> bool:
    return path in {reverse("new-batch"), reverse("check-new-batch")}


def is_refused_unread(request: Mapping[str, Any]) -> bool:
    """Of an environ: whether nobody is to keep its body, since it is refused as it stands here."""
    path, length = request["PATH_INFO"], int(request.get("CONTENT_LENGTH") or 0)
    kind = request.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    return refused_unread(path, kind, length) is not None
