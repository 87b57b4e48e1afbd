"""What the operator's lists of accounts and keys share."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.http import HttpRequest

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
