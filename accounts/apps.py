"""The Django apps of accounts and of the operators' site."""

from django.apps import AppConfig
from django.contrib.admin import apps as admin


class AccountsConfig(AppConfig):
    """Accounts, wallet sign-in and API keys."""

    name = "accounts"


class OperatorsAdminConfig(admin.AdminConfig):
    """Django's admin, with our sign-in."""

    default = False
    default_site = "accounts.operators_site.OperatorsSite"
