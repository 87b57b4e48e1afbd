"""The Python client, as it stands in `queries/tacitus.py`: each server has the one that fits it."""

import hashlib
from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

CONTENT = (Path(__file__).parent.parent / "tacitus.py").read_bytes()
HEADERS = {
    "ETag": f'"{hashlib.sha256(CONTENT).hexdigest()[:32]}"',
    # Kept, and asked after each time: a server that was renewed has another one.
    "Cache-Control": "public, no-cache",
}


@require_safe
def client_file(request: HttpRequest) -> HttpResponseBase:
    whole = HttpResponse(CONTENT, content_type="text/x-python; charset=utf-8", headers=HEADERS)
    answer = get_conditional_response(request, etag=HEADERS["ETag"], response=whole) or whole
    if settings.API_CORS:
        answer["Access-Control-Allow-Origin"] = "*"
    return answer
