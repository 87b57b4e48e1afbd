"""What the operator's lists of accounts and keys share."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import BadRequest, ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

if TYPE_CHECKING:
    Rows = admin.ModelAdmin[Any]
else:  # which takes no type at run time
    Rows = admin.ModelAdmin


MOST_WORDS, MOST_LETTERS = 10, 200  # of a search; each word is a condition for each column


class KeptByItself(Rows):
    """Rows come and go by what people do, not by hand."""

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
        """Django takes any column and comparison, and asks the database whatever comes of it."""
        return lookup in self.filtered_by

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """All of it or nothing: what some of the words find is more than was searched for, and an
        action may be about to be done to it.
        """
        if len(search_term) <= MOST_LETTERS and len(search_term.split()) <= MOST_WORDS:
            return super().get_search_results(request, queryset, search_term)
        self.message_user(
            request,
            f"A search has at most {MOST_WORDS} words and {MOST_LETTERS} letters. Nothing was "
            "searched for.",
            messages.WARNING,
        )
        return queryset.none(), False

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any], *args: Any, **more: Any
    ) -> HttpResponse | None:
        """Django asks the database for whatever was chosen."""
        for chosen in request.POST.getlist(ACTION_CHECKBOX_NAME):
            try:
                self.opts.pk.clean(chosen, None)
            except ValidationError as error:
                raise BadRequest("What was chosen can be no row.") from error
        return super().response_action(request, queryset, *args, **more)
