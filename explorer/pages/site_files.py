"""The files that programs expect on a site: robots.txt, a sitemap, and a security contact."""

from datetime import timedelta

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.generic import TemplateView

from explorer.guides.render import PAGES

ICONS = {"favicon.ico": settings.BASE_DIR / "explorer" / "static" / "favicon.ico"}
CONTACT_VALIDITY = timedelta(days=180)  # RFC 9116 recommends less than a year
TEXT = "text/plain; charset=utf-8"

robots = TemplateView.as_view(template_name="site/robots.txt", content_type=TEXT)
# The pages that stay; search engines find batches and blocks by their links.
sitemap = TemplateView.as_view(
    template_name="site/sitemap.xml",
    content_type="application/xml",
    extra_context={"guides": PAGES},
)


def security(request: HttpRequest) -> HttpResponse:
    """The contact for reports of vulnerabilities (RFC 9116)."""
    if not settings.SECURITY_CONTACT:
        raise Http404
    today = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)
    context = {"contact": settings.SECURITY_CONTACT, "expires": today + CONTACT_VALIDITY}
    return render(request, "site/security.txt", context, content_type=TEXT)
