"""The operator's view: who is there, and taking away what was given. Never a secret."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.models import Group
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest

from accounts import sessions
from accounts.admin_keys import ApiKeyAdmin
from accounts.admin_rows import KeptByItself
from accounts.models import Account, ApiKey
from accounts.sessions import account_of

SHOWN = ("address", "chain_id", "username", "last_login", "created")

admin.site.unregister(Group)  # an operator may do everything here, and nobody else anything
admin.site.register(ApiKey, ApiKeyAdmin)


@admin.register(Account)
class AccountAdmin(KeptByItself):
    list_display = ("__str__", "is_active", "living_keys", "last_login", "created")
    list_filter = ("is_active",)
    filtered_by = frozenset({"is_active__exact"})
    search_fields = ("address", "username")
    fields = ("address", "chain_id", "username", "is_active", "last_login", "created")
    actions = ("disable", "enable")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Account]:
        living = Count("keys", filter=Q(keys__revoked=None))
        rows: QuerySet[Account] = super().get_queryset(request).annotate(living_keys=living)
        return rows

    def get_readonly_fields(
        self, request: HttpRequest, account: Account | None = None
    ) -> tuple[str, ...]:
        held = account is not None and not may_switch(account_of(request), account)
        return (*SHOWN, "is_active") if held else SHOWN

    @admin.display(description="keys", ordering="living_keys")
    def living_keys(self, account: Any) -> int:
        return int(account.living_keys)

    @admin.action(description="Disable: sign out and refuse keys")
    def disable(self, request: HttpRequest, chosen: QuerySet[Account]) -> None:
        self._switch(request, chosen, on=False)

    @admin.action(description="Enable")
    def enable(self, request: HttpRequest, chosen: QuerySet[Account]) -> None:
        self._switch(request, chosen, on=True)

    def save_model(self, request: HttpRequest, account: Account, form: Any, change: Any) -> None:
        super().save_model(request, account, form, change)
        if "is_active" in form.changed_data:
            sessions.end_all_sessions(account)

    def _switch(self, request: HttpRequest, chosen: QuerySet[Account], *, on: bool) -> None:
        """Those that are not so already, and that this operator may.

        Sessions end afterwards, since a sign-in between would otherwise be there when enabled.

        And they end again then, should one have come through all the same.
        """
        operator, said = account_of(request), "Enabled" if on else "Disabled"
        others = [each for each in chosen if each.is_active is not on]
        accounts = [each for each in others if may_switch(operator, each)]
        Account.objects.filter(pk__in=[each.pk for each in accounts]).update(is_active=on)
        for each in accounts:
            sessions.end_all_sessions(each)
            self.log_change(request, each, f"{said}.")
        self.message_user(request, f"{said}: {len(accounts)}.")
        if left := len(others) - len(accounts):
            self.message_user(
                request,
                f"Left as it was: {left}. Nobody disables himself, and a wallet no operator whom "
                "createsuperuser made.",
            )


def may_switch(operator: Account, account: Account) -> bool:
    """So that somebody is left who comes in, and who was made on the server is not shut out."""
    return account.pk != operator.pk and (operator.is_operator or not account.is_operator)
