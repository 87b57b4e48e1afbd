"""The WSGI application that `tacitus serve` runs."""

import os
from collections.abc import Iterable
from io import BytesIO
from wsgiref.types import StartResponse, WSGIEnvironment

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "explorer.settings")

django = get_wsgi_application()


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Give a chunked body a length, without which Django treats it as empty.

    One byte more than the limit is read, so that Django refuses a larger body. Charsets are
    removed, because Python caches every charset that a client names.
    """
    if content_type := environ.get("CONTENT_TYPE"):
        environ["CONTENT_TYPE"] = content_type.partition(";")[0]
    if "HTTP_TRANSFER_ENCODING" in environ:
        body = environ["wsgi.input"].read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
        environ |= {"CONTENT_LENGTH": str(len(body)), "wsgi.input": BytesIO(body)}
    return django(environ, start_response)
