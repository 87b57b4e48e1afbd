"""Accounts and keys in Django's admin, for operators; its site is `operators_site`."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.auth.models import Group
from django.db.models import Count, IntegerField, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Concat
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path
from django.views.decorators.http import require_POST

from accounts.keys import manage
from accounts.models import Account, Allowance, ApiKey
from accounts.shared.rate_limits import DAY, KEY_SUBJECT, database_now
from accounts.sign_in.sessions import account_of

if TYPE_CHECKING:
    Rows = admin.ModelAdmin[Any]
else:  # which takes no type at run time
    Rows = admin.ModelAdmin


class KeptByItself(Rows):
    """Rows that operators cannot add or delete."""

    filtered_by: frozenset[str] = frozenset()  # parameters of a list's own filters

    def has_add_permission(self, _request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, _request: HttpRequest, _row: object = None) -> bool:
        return False

    def lookup_allowed(
        self,
        lookup: str,
        value: Any,  # noqa: ARG002
        request: HttpRequest | None = None,  # noqa: ARG002  (Django looks whether it is there)
    ) -> bool:
        """Only the list's own filters: Django would accept any column and comparison."""
        return lookup in self.filtered_by


class WorkingOrRevoked(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, *_: object) -> list[tuple[str, str]]:
        return [("working", "Working"), ("revoked", "Revoked")]

    def queryset(self, _request: HttpRequest, keys: QuerySet[ApiKey]) -> QuerySet[ApiKey]:
        match self.value():
            case "working":
                return keys.filter(revoked=None)
            case "revoked":
                return keys.exclude(revoked=None)
            case _:
                return keys


class ApiKeyAdmin(KeptByItself):
    list_display = ("id", "name", "whose", "last_used", "requests_today", "created", "revoked")
    list_filter = (WorkingOrRevoked,)
    filtered_by = frozenset({WorkingOrRevoked.parameter_name})
    list_select_related = ("owner",)
    search_fields = ("id", "name", "owner__address", "owner__username")
    fields = (
        "id", "name", "owner", "version", "created", "last_used", "requests_today",
        "previous_until", "revoked",
    )  # fmt: skip
    actions = ("revoke",)

    def has_change_permission(self, _request: HttpRequest, _row: object = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        """With each key's use in the same query."""
        used = Allowance.objects.filter(subject=Concat(Value(KEY_SUBJECT), OuterRef("pk")))
        today = used.filter(day=database_now() // DAY).values("day_used")
        rows: QuerySet[ApiKey] = (
            super()
            .get_queryset(request)
            .annotate(
                used_at=Subquery(used.values("last_used")),
                used_today=Coalesce(Subquery(today), 0, output_field=IntegerField()),
            )
        )
        return rows

    @admin.display(description="owner", ordering="owner__address")
    def whose(self, key: ApiKey) -> str:
        """Short, so that the use stands beside it; the key's page has the whole address."""
        return key.owner.get_short_name()

    @admin.display(description="last used", ordering="used_at")
    def last_used(self, key: Any) -> datetime | str:
        return "never" if key.used_at is None else datetime.fromtimestamp(key.used_at, UTC)

    @admin.display(description="requests today", ordering="used_today")
    def requests_today(self, key: Any) -> int:
        return int(key.used_today)

    def get_urls(self) -> list[URLPattern]:
        one = self.admin_site.admin_view(require_POST(self.revoke_one))
        return [
            path("<slug:key_id>/revoke/", one, name="accounts_apikey_revoke"),
            *super().get_urls(),
        ]

    @admin.action(description="Revoke")
    def revoke(self, request: HttpRequest, chosen: QuerySet[ApiKey]) -> None:
        self._revoke(request, chosen)

    def revoke_one(self, request: HttpRequest, key_id: str) -> HttpResponse:
        """The button on a key's own page."""
        key = get_object_or_404(ApiKey, pk=key_id)
        if request.POST.get("sure"):
            self._revoke(request, ApiKey.objects.filter(pk=key.pk))
        else:
            self.message_user(request, "Tick the box to revoke the key.", messages.WARNING)
        return redirect("admin:accounts_apikey_change", key.pk)

    def _revoke(self, request: HttpRequest, chosen: QuerySet[ApiKey]) -> None:
        keys = list(chosen.filter(revoked=None))
        count = manage.revoke_all(ApiKey.objects.filter(pk__in=[key.pk for key in keys]))
        for key in keys:
            self.log_change(request, key, "Revoked.")
        self.message_user(request, f"Revoked: {count}.")


SHOWN = ("address", "chain_id", "username", "last_login", "created")

admin.site.unregister(Group)  # only operators come here, and they may do everything
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
            account.sessions.all().delete()

    def _switch(self, request: HttpRequest, chosen: QuerySet[Account], *, on: bool) -> None:
        """Switch the chosen accounts that differ and that this operator may switch.

        Sessions end afterwards, also when enabled: a sign-in may have come in between.
        """
        operator, said = account_of(request), "Enabled" if on else "Disabled"
        others = [each for each in chosen if each.is_active is not on]
        accounts = [each for each in others if may_switch(operator, each)]
        Account.objects.filter(pk__in=[each.pk for each in accounts]).update(is_active=on)
        for each in accounts:
            each.sessions.all().delete()
            self.log_change(request, each, f"{said}.")
        self.message_user(request, f"{said}: {len(accounts)}.")
        if left := len(others) - len(accounts):
            self.message_user(
                request,
                f"Unchanged: {left}. You cannot disable or enable your own account, nor, if you "
                "signed in with a wallet, an operator with a password.",
            )


def may_switch(operator: Account, account: Account) -> bool:
    """Keeps operators from locking out themselves, and wallets from locking out superusers."""
    return account.pk != operator.pk and (operator.is_operator or not account.is_operator)
