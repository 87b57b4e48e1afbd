"""The operator's list of keys: whose they are, how they are used, and revoking them."""

from datetime import UTC, datetime
from typing import Any

from django.contrib import admin, messages
from django.db.models import IntegerField, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, Concat
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path
from django.views.decorators.http import require_POST

from accounts import api_keys
from accounts.admin_rows import KeptByItself
from accounts.models import Allowance, ApiKey
from accounts.rate_limits import DAY, KEY_SUBJECT, database_now


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
        count = api_keys.revoke_all(ApiKey.objects.filter(pk__in=[key.pk for key in keys]))
        for key in keys:
            self.log_change(request, key, "Revoked.")
        self.message_user(request, f"Revoked: {count}.")
