"""The proof of a batch as a file, for whoever has its page."""

from collections.abc import Callable
from typing import IO

from django.http import FileResponse, Http404, HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.errors import Refusal, answer_of
from queries.reading import batches


@require_safe
@never_cache
def batch_proof(
    request: HttpRequest,  # noqa: ARG001
    batch_id: str,
    proof_of: Callable[[str], IO[bytes]],
) -> HttpResponseBase:
    if batches.batch(batch_id) is None:
        raise Http404
    try:
        file = proof_of(batch_id)
    except Refusal as refusal:
        return answer_of(refusal)
    name = f"tacitus-{batch_id}-proof.json"
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/json")
