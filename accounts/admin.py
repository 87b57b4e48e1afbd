"""The operator's view: who is there, and taking away what was given. Never a secret."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts import api_keys, sessions
from accounts.models import Account, ApiKey
from accounts.sessions import account_of

if TYPE_CHECKING:
    Rows = admin.ModelAdmin[Any]
else:  # which takes no type at run time
    Rows = admin.ModelAdmin


class KeptByItself(Rows):
    """Rows come and go by what people do, not by hand."""

    def has_add_permission(self, _request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, _request: HttpRequest, _row: object = None) -> bool:
        return False


@admin.register(Account)
class AccountAdmin(KeptByItself):
    list_display = ("__str__", "is_active", "living_keys", "last_login", "created")
    list_filter = ("is_active",)
    search_fields = ("address", "username")
    fields = ("address", "chain_id", "username", "is_active", "last_login", "created")
    readonly_fields = ("address", "chain_id", "username", "last_login", "created")
    actions = ("disable", "enable")

    @admin.display(description="keys")
    def living_keys(self, account: Account) -> int:
        return account.keys.filter(revoked=None).count()

    @admin.action(description="Disable: sign out and refuse keys")
    def disable(self, request: HttpRequest, chosen: QuerySet[Account]) -> None:
        others = chosen.exclude(pk=account_of(request).pk)
        for account in others:
            sessions.end_all_sessions(account)
        self.message_user(request, f"Disabled: {others.update(is_active=False)}.")

    @admin.action(description="Enable")
    def enable(self, request: HttpRequest, chosen: QuerySet[Account]) -> None:
        self.message_user(request, f"Enabled: {chosen.update(is_active=True)}.")

    def save_model(self, request: HttpRequest, account: Account, form: Any, change: Any) -> None:
        super().save_model(request, account, form, change)
        if not account.is_active:
            sessions.end_all_sessions(account)


@admin.register(ApiKey)
class ApiKeyAdmin(KeptByItself):
    list_display = ("id", "name", "owner", "created", "revoked")
    list_filter = (("revoked", admin.EmptyFieldListFilter),)
    list_select_related = ("owner",)
    search_fields = ("id", "name", "owner__address", "owner__username")
    fields = readonly_fields = ("id", "name", "owner", "version", "created", "revoked")
    actions = ("revoke",)

    @admin.action(description="Revoke")
    def revoke(self, request: HttpRequest, chosen: QuerySet[ApiKey]) -> None:
        self.message_user(request, f"Revoked: {api_keys.revoke_all(chosen)}.")
