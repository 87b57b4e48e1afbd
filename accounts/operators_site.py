"""Django's admin for operators, who sign in by wallet or by password; passwords are limited."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import rotate_token
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.utils.decorators import method_decorator
from django.views.decorators.http import require_http_methods

from accounts.shared.errors import RefusalError
from accounts.sign_in.attempts import count_password

View = TypeVar("View", bound=Callable[..., HttpResponseBase])
get_or_post = require_http_methods(["GET", "HEAD", "POST"])


class OperatorsSite(AdminSite):
    site_title = "Tacitus"
    site_header = "Tacitus, for operators"
    index_title = "Accounts and keys"
    enable_nav_sidebar = False

    def admin_view(self, view: View, *_: object, **__: object) -> View:
        """Unlike Django, refuse other HTTP methods, and let no page be cached."""
        return get_or_post(super().admin_view(view))

    @method_decorator(get_or_post)
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

    def logout(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """Also renew the CSRF token, as every sign-out does."""
        response = super().logout(request, extra_context)
        rotate_token(request)
        return response
