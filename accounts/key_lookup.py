"""The key that someone shows, if it is one."""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.crypto import constant_time_compare

from accounts.key_text import id_in, key_digest
from accounts.models import ApiKey


@dataclass(frozen=True, slots=True)
class Held:
    """A key that someone showed, and whether it may be used."""

    key: ApiKey
    revoked: bool
    owner_disabled: bool


def find(text: str) -> Held | None:
    """The key that `text` is, if it is one. It is looked for by its name, then compared."""
    key_id = id_in(text)
    if key_id is None:
        return None
    key = ApiKey.objects.select_related("owner").filter(pk=key_id).first()
    if key is None:
        return None
    digest = key_digest(text)
    current = constant_time_compare(digest, key.digest)
    previous = constant_time_compare(digest, key.previous_digest)
    if not current and not (previous and _still(key.previous_until)):
        return None
    return Held(key, key.revoked is not None, not key.owner.is_active)


def _still(until: datetime | None) -> bool:
    return until is not None and timezone.now() < until
