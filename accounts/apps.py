from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """Who is asking: wallet sign-in and API keys."""

    name = "accounts"
