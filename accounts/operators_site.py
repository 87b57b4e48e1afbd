"""Django's admin for operators, who sign in by wallet or by password; passwords are limited."""

from typing import Any

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.http.errors import RefusalError
from accounts.sign_in.attempts import count_password


class OperatorsSite(AdminSite):
    site_title = "Tacitus"
    site_header = "Tacitus, for operators"
    index_title = "Accounts and keys"
    enable_nav_sidebar = False

    def admin_view(self, view: Any, *_: object, **__: object) -> Any:
        """Unlike Django, let no page be cached."""
        return super().admin_view(view)

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if request.method == "POST":
            try:
                count_password(request)
            except RefusalError as refusal:
                page = render(request, "429.html", {"sentence": refusal.sentence}, status=429)
                for name, value in refusal.headers.items():
                    page.headers[name] = value
                return page
        return super().login(request, extra_context)
