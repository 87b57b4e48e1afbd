"""`manage.py bench_server`: the web server of `manage.py bench`, with the bare views beside all."""

from typing import Any

from django.test.utils import override_settings

from explorer.management.commands.serve import Command as Serve


class Command(Serve):
    help = "Serves as `serve` does, and the views that `bench` holds it against. For the bench."

    def handle(self, **options: Any) -> None:
        with override_settings(ROOT_URLCONF="explorer.bench.urls"):
            super().handle(**options)
