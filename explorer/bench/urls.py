"""Every address of the service, and beside them those of the bare views."""

from django.urls import path

from explorer import urls
from explorer.bench import bare_views

handler400, handler500 = urls.handler400, urls.handler500
urlpatterns = [
    path(bare_views.BEHIND_THE_KEY, bare_views.behind_the_key),
    path(bare_views.UNPROTECTED, bare_views.unprotected),
    *urls.urlpatterns,
]
