"""The files that programs expect on a site: robots.txt, a sitemap, and a security contact."""

from datetime import timedelta

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from accounts.shared.site_address import site_address
from explorer.guides.render import GUIDES

ICONS = {"favicon.ico": settings.BASE_DIR / "static" / "favicon.ico"}
CONTACT_VALIDITY = timedelta(days=180)  # RFC 9116 recommends less than a year
TEXT = "text/plain; charset=utf-8"


def robots(request: HttpRequest) -> HttpResponse:
    return _site_file(request, "site/robots.txt", TEXT)


def sitemap(request: HttpRequest) -> HttpResponse:
    """The pages that stay; search engines find batches and blocks by their links."""
    return _site_file(request, "site/sitemap.xml", "application/xml", guides=GUIDES)


def security(request: HttpRequest) -> HttpResponse:
    """Where to report a vulnerability (RFC 9116)."""
    if not settings.SECURITY_CONTACT:
        raise Http404
    today = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    expires = f"{today + CONTACT_VALIDITY:%Y-%m-%dT%H:%M:%SZ}"
    contact = settings.SECURITY_CONTACT
    return _site_file(request, "site/security.txt", TEXT, contact=contact, expires=expires)


def _site_file(
    request: HttpRequest, template: str, content_type: str, **context: object
) -> HttpResponse:
    context |= {"site": site_address(request)}
    return render(request, template, context, content_type=content_type)
