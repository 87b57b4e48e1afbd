"""Accounts and keys in Django's admin, for operators; operators_site.py has the site."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.models import Group
from django.db.models import Count, IntegerField, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Concat
from django.http import HttpRequest

from accounts.http.rate_limits import KEY_SUBJECT_PREFIX, database_now
from accounts.keys import manage
from accounts.models import Account, ApiKey, UsageCounter
from accounts.sign_in.sessions import signed_in_account
from accounts.wording import DAY

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:  # not generic at run time
    ModelAdmin = admin.ModelAdmin


class ReadOnlyAdmin(ModelAdmin):
    """Rows that operators change only by actions."""

    def has_add_permission(self, _request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, _request: HttpRequest, _row: object = None) -> bool:
        return False

    def has_delete_permission(self, _request: HttpRequest, _row: object = None) -> bool:
        return False


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    list_display = (
        "id", "name", "short_owner", "last_used", "requests_today", "created_at", "revoked_at",
    )  # fmt: skip
    list_filter = (("revoked_at", admin.EmptyFieldListFilter),)
    list_select_related = ("owner",)
    search_fields = ("id", "name", "owner__address", "owner__username")
    fields = (
        "id", "name", "owner", "version", "created_at", "last_used", "requests_today",
        "previous_until", "revoked_at",
    )  # fmt: skip
    actions = ("revoke",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ApiKey]:
        """Annotate the keys with their use."""
        usage = UsageCounter.objects.filter(
            subject=Concat(Value(KEY_SUBJECT_PREFIX), OuterRef("pk"))
        )
        today = usage.filter(day=database_now() // DAY).values("day_count")
        rows: QuerySet[ApiKey] = (
            super()
            .get_queryset(request)
            .annotate(
                last_used_at=Subquery(usage.values("last_used")),
                count_today=Coalesce(Subquery(today), 0, output_field=IntegerField()),
            )
        )
        return rows

    @admin.display(description="owner", ordering="owner__address")
    def short_owner(self, key: ApiKey) -> str:
        """Short, so that the row fits; the key's page has the whole address."""
        return key.owner.get_short_name()

    @admin.display(description="last used", ordering="last_used_at")
    def last_used(self, key: Any) -> datetime | str:
        return (
            "never" if key.last_used_at is None else datetime.fromtimestamp(key.last_used_at, UTC)
        )

    @admin.display(description="requests today", ordering="count_today")
    def requests_today(self, key: Any) -> int:
        return int(key.count_today)

    @admin.action(description="Revoke")
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiKey]) -> None:
        keys = list(queryset.filter(revoked_at=None))
        count = manage.revoke_all(ApiKey.objects.filter(pk__in=[key.pk for key in keys]))
        for key in keys:
            self.log_change(request, key, "Revoked.")
        self.message_user(request, f"Revoked: {count}.")


admin.site.unregister(Group)  # only operators come here, and each may do everything


@admin.register(Account)
class AccountAdmin(ReadOnlyAdmin):
    list_display = ("__str__", "is_active", "active_keys", "last_login", "created_at")
    list_filter = ("is_active",)
    search_fields = ("address", "username")
    fields = ("address", "chain_id", "username", "is_active", "last_login", "created_at")
    actions = ("disable", "enable")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Account]:
        count = Count("keys", filter=Q(keys__revoked_at=None))
        rows: QuerySet[Account] = super().get_queryset(request).annotate(active_key_count=count)
        return rows

    @admin.display(description="keys", ordering="active_key_count")
    def active_keys(self, account: Any) -> int:
        return int(account.active_key_count)

    @admin.action(description="Disable: sign out and refuse keys")
    def disable(self, request: HttpRequest, queryset: QuerySet[Account]) -> None:
        self._set_active(request, queryset, is_active=False)

    @admin.action(description="Enable")
    def enable(self, request: HttpRequest, queryset: QuerySet[Account]) -> None:
        self._set_active(request, queryset, is_active=True)

    def _set_active(
        self, request: HttpRequest, queryset: QuerySet[Account], *, is_active: bool
    ) -> None:
        """Set the accounts that this operator may change, and end their sessions afterwards.

        No operator may lock themselves out, and no wallet may lock out a superuser.
        """
        operator, verb = signed_in_account(request), "Enabled" if is_active else "Disabled"
        changes = [account for account in queryset if account.is_active is not is_active]
        accounts = [
            account
            for account in changes
            if account.pk != operator.pk and (operator.is_operator or not account.is_operator)
        ]
        Account.objects.filter(pk__in=[account.pk for account in accounts]).update(
            is_active=is_active
        )
        for account in accounts:
            account.sessions.all().delete()
            self.log_change(request, account, f"{verb}.")
        self.message_user(request, f"{verb}: {len(accounts)}.")
        if unchanged_count := len(changes) - len(accounts):
            self.message_user(
                request,
                f"Unchanged: {unchanged_count}. You cannot disable or enable your own account, "
                "nor, if you signed in with a wallet, an operator with a password.",
            )
