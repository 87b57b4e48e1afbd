"""The demo's wallet, which demo_wallet.js announces to the sign-in page.

It signs only the sign-in message that was issued to this browser, and only on this machine.
"""

from django.http import HttpRequest
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from eth_utils.address import to_checksum_address

from accounts.http.errors import PageCode, RefusalError
from accounts.sign_in import siwe
from accounts.views import json_object, json_view, text_field
from explorer.http.probes import is_from_this_machine
from explorer.wiring import demo_wallet


@require_safe
@never_cache
@json_view
def account(request: HttpRequest) -> dict[str, object]:
    _refuse_other_machines(request)
    with demo_wallet() as wallet:
        return {"address": to_checksum_address(wallet.payer), "chainId": hex(wallet.chain_id)}


@require_POST
@never_cache
@json_view
def sign(request: HttpRequest) -> dict[str, object]:
    _refuse_other_machines(request)
    text = text_field(json_object(request), "message")
    signer = siwe.expected_signer(request, text)
    with demo_wallet() as wallet:
        if signer.address != to_checksum_address(wallet.payer):
            raise RefusalError(
                PageCode.REQUEST_MALFORMED, "The demo wallet signs only for its own account."
            )
        return {"signature": wallet.sign_text(text)}


def _refuse_other_machines(request: HttpRequest) -> None:
    """The demo's `serve` listens on localhost only; this also covers other servers."""
    if not is_from_this_machine(request):
        raise RefusalError(
            PageCode.NOT_ALLOWED, "The demo wallet is for the machine that the demo runs on."
        )
