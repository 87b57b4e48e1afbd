"""API keys: made, shown, found, renamed, rotated, revoked. What one looks like: key_text.py."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from accounts.key_text import id_in, key_digest, key_text, new_id
from accounts.models import Account, ApiKey
from accounts.rate_limits import KEY_SUBJECT
from accounts.refusals import Refusal

KEYS_OF_AN_ACCOUNT = 20
FIRST_NAME = "First key"
# How long the old secret of a rotated key may still work.
GRACE_PERIODS = {
    0: "at once",
    3_600: "after 1 hour",
    86_400: "after 1 day",
    604_800: "after 7 days",
}


class TooManyKeys(Refusal):
    code: ClassVar[str] = "too_many_keys"


class KeyGone(Refusal):
    """The key is another's, was revoked, or was rotated in another window meanwhile."""

    code: ClassVar[str] = "key_gone"


def add_key(owner: Account, name: str) -> ApiKey:
    with transaction.atomic():
        # One at a time for an account, so that two together cannot pass the limit.
        Account.objects.select_for_update().get(pk=owner.pk)
        if owner.keys.filter(revoked=None).count() >= KEYS_OF_AN_ACCOUNT:
            raise TooManyKeys(
                f"An account has at most {KEYS_OF_AN_ACCOUNT} keys. Revoke one that is not used."
            )
        key = ApiKey(id=new_id(), owner=owner)
        key.name = name
        key.digest = key_digest(key_text(key.id, key.version, settings.SECRET_KEY))
        key.save(force_insert=True)
    return key


def shown(key: ApiKey) -> str | None:
    """The whole key, or None where it was made with a SECRET_KEY that is no longer known."""
    for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        text = key_text(key.id, key.version, secret)
        if constant_time_compare(key_digest(text), key.digest):
            return text
    return None


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


def rename(owner: Account, key_id: str, name: str) -> None:
    if not owner.keys.filter(pk=key_id, revoked=None).update(name=name):
        raise _gone()


def rotate(owner: Account, key_id: str, seen: int, grace: timedelta) -> ApiKey:
    """A new secret for the key. The old one works for `grace`; one older than that, no more.

    `seen` is the version that the owner saw: another window may have rotated it since, and the
    secret that was shown there, or was promised a grace, is not to end by a second click here.
    """
    living = owner.keys.filter(pk=key_id, revoked=None, version=seen)
    key = living.first()
    if key is None:
        raise _gone()
    key.version = seen + 1
    key.previous_digest = key.digest if grace else ""
    key.previous_until = timezone.now() + grace if grace else None
    key.digest = key_digest(key_text(key.id, key.version, settings.SECRET_KEY))
    changed = living.update(
        version=key.version,
        digest=key.digest,
        previous_digest=key.previous_digest,
        previous_until=key.previous_until,
    )
    if not changed:
        raise _gone()
    return key


def end_grace(owner: Account, key_id: str, seen: int) -> ApiKey:
    """The secret before this one is refused from now on."""
    living = owner.keys.filter(pk=key_id, revoked=None, version=seen)
    if not living.update(previous_digest="", previous_until=None):
        raise _gone()
    return owner.keys.get(pk=key_id)


def revoke(owner: Account, key_id: str) -> ApiKey:
    if not revoke_all(owner.keys.filter(pk=key_id)):
        raise _gone()
    return owner.keys.get(pk=key_id)


def revoke_all(keys: QuerySet[ApiKey]) -> int:
    """How many were not revoked yet.

    Every worker asks the database each time, so they are refused from now on.
    """
    return keys.filter(revoked=None).update(
        revoked=timezone.now(), previous_digest="", previous_until=None
    )


def subject(key: ApiKey) -> str:
    """What the key's use is counted under."""
    return f"{KEY_SUBJECT}{key.id}"


def _still(until: datetime | None) -> bool:
    return until is not None and timezone.now() < until


def _gone() -> KeyGone:
    return KeyGone(
        "There is no such key, or it was changed in another window. The list shows what there is."
    )
