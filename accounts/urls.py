"""The addresses of sign-in and keys."""

from django.urls import URLPattern, path

from accounts import key_views, views
from accounts.contract_wallets import AskWallet


def addresses(ask: AskWallet) -> list[URLPattern]:
    """All of them; `ask` is how sign-in asks a contract wallet on its chain."""
    return [
        path("sign-in", views.sign_in, {"ask": ask}, name="sign-in"),
        path("sign-in/message", views.message_to_sign, name="message-to-sign"),
        path("sign-out", views.sign_out, name="sign-out"),
        path("sign-out-everywhere", views.sign_out_everywhere, name="sign-out-everywhere"),
        path("sessions/<slug:session_id>/end", views.end_session, name="end-session"),
        path("keys", key_views.add, name="add-key"),
        path("keys/<slug:key_id>/rename", key_views.rename, name="rename-key"),
        path("keys/<slug:key_id>/rotate", key_views.rotate, name="rotate-key"),
        path("keys/<slug:key_id>/end-grace", key_views.end_grace, name="end-grace"),
        path("keys/<slug:key_id>/revoke", key_views.revoke, name="revoke-key"),
    ]
