"""The addresses of sign-in and keys."""

from django.urls import URLPattern, path

from accounts import views
from accounts.wallets import AskWallet


def addresses(ask: AskWallet) -> list[URLPattern]:
    """All of them; `ask` is how sign-in asks a contract wallet on its chain."""
    return [
        path("sign-in", views.sign_in, {"ask": ask}, name="sign-in"),
        path("sign-in/message", views.message_to_sign, name="message-to-sign"),
        path("sign-out", views.sign_out, name="sign-out"),
        path("sign-out-everywhere", views.sign_out_everywhere, name="sign-out-everywhere"),
        path("sessions/<slug:session_id>/end", views.end_session, name="end-session"),
        path("keys", views.add_key, name="add-key"),
        path("keys/<slug:key_id>/rename", views.rename_key, name="rename-key"),
        path("keys/<slug:key_id>/rotate", views.rotate_key, name="rotate-key"),
        path("keys/<slug:key_id>/end-grace", views.end_grace, name="end-grace"),
        path("keys/<slug:key_id>/revoke", views.revoke_key, name="revoke-key"),
    ]
