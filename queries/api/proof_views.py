"""The proof of a batch, to be checked without this service; see `queries/proving/bundles.py`."""

from django.http import FileResponse, HttpRequest
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from accounts.key_check import with_api_key
from accounts.models import ApiKey
from queries.reading.proofs import proof_of
from queries.routes import Routes


@csrf_exempt
@require_safe
@with_api_key
def batch_proof(_request: HttpRequest, _key: ApiKey, batch: str, routes: Routes) -> FileResponse:
    """Of any batch: whoever knows its id may read it."""
    answer = FileResponse(proof_of(batch, routes), content_type="application/json")
    answer["Cache-Control"] = "no-store"
    return answer
