"""Creates, shows, renames, rotates and revokes API keys; text.py has their format."""

import unicodedata
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from accounts.http.errors import PageCode, RefusalError
from accounts.http.rate_limits import KEY_SUBJECT_PREFIX, refuse_over_quota, use_quota
from accounts.keys.text import key_digest, key_text, new_id
from accounts.models import Account, ApiKey, UsageCounter
from accounts.wording import HOUR

MAX_KEYS_PER_ACCOUNT = 20
MAX_CHANGES_PER_HOUR = 20
MAX_REVOKED_KEYS = 50  # that an account keeps
FIRST_KEY_NAME = "First key"
# How long the old secret of a rotated key may still work.
GRACE_PERIODS = {
    0: "at once",
    3_600: "after 1 hour",
    86_400: "after 1 day",
    604_800: "after 7 days",
}


def use_change_quota(owner: Account) -> None:
    """Count a key that is created or rotated in a browser; both share one limit.

    Raises `RefusalError` if the hourly limit is used up.
    """
    quota = use_quota(f"keys of {owner.pk}", MAX_CHANGES_PER_HOUR, HOUR)
    sentence = f"An account may create or rotate {MAX_CHANGES_PER_HOUR} keys an hour."
    refuse_over_quota(quota, PageCode.TOO_MANY_KEY_CHANGES, sentence)


def add_key(owner: Account, name: str) -> ApiKey:
    with transaction.atomic():
        # Lock the account, so that two concurrent requests cannot exceed the limit.
        Account.objects.select_for_update(no_key=True).get(pk=owner.pk)
        if owner.keys.filter(revoked_at=None).count() >= MAX_KEYS_PER_ACCOUNT:
            raise RefusalError(
                PageCode.TOO_MANY_KEYS,
                f"An account has at most {MAX_KEYS_PER_ACCOUNT} keys. Revoke one that is not used.",
            )
        key = ApiKey(id=new_id(), owner=owner, name=name)
        key.digest = key_digest(key_text(key.id, key.version, settings.SECRET_KEY))
        key.save(force_insert=True)
    return key


def reveal(key: ApiKey) -> str | None:
    """The whole key, or None if its SECRET_KEY is no longer configured."""
    for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        text = key_text(key.id, key.version, secret)
        if constant_time_compare(key_digest(text), key.digest):
            return text
    return None


def rename(owner: Account, key_id: str, name: str) -> None:
    if not owner.keys.filter(pk=key_id, revoked_at=None).update(name=name):
        raise _key_changed_error()


def rotate(owner: Account, key_id: str, seen_version: int, grace: timedelta) -> ApiKey:
    """Give the key a new secret. The old one works for `grace`; any older one ends now.

    Refused if the key was rotated since the owner saw `seen_version`, such as by a second click.
    """
    unchanged_keys = owner.keys.filter(pk=key_id, revoked_at=None, version=seen_version)
    key = unchanged_keys.first()
    if key is None:
        raise _key_changed_error()
    is_rotated = unchanged_keys.update(
        version=seen_version + 1,
        digest=key_digest(key_text(key.id, seen_version + 1, settings.SECRET_KEY)),
        previous_digest=key.digest if grace else "",
        previous_until=timezone.now() + grace if grace else None,
    )
    if not is_rotated:
        raise _key_changed_error()
    return owner.keys.get(pk=key_id)


def end_grace(owner: Account, key_id: str, seen_version: int) -> ApiKey:
    """Refuse the previous secret from now on."""
    unchanged_keys = owner.keys.filter(pk=key_id, revoked_at=None, version=seen_version)
    if not unchanged_keys.update(previous_digest="", previous_until=None):
        raise _key_changed_error()
    return owner.keys.get(pk=key_id)


def revoke(owner: Account, key_id: str) -> ApiKey:
    key = owner.keys.filter(pk=key_id).first()
    if key is None or not revoke_all(owner.keys.filter(pk=key_id)):
        raise _key_changed_error()
    return key


def revoke_all(keys: QuerySet[ApiKey]) -> int:
    """Revoke the keys, from the next request on; return how many were not revoked before."""
    owners = list(Account.objects.filter(keys__in=keys).distinct())
    count = keys.filter(revoked_at=None).update(
        revoked_at=timezone.now(), previous_digest="", previous_until=None
    )
    for owner in owners:
        _delete_surplus_revoked(owner)
    return count


def _delete_surplus_revoked(owner: Account) -> None:
    """Keep the newest: creating and revoking keys repeatedly would otherwise fill the table."""
    newest_first = owner.keys.exclude(revoked_at=None).order_by("-revoked_at", "pk")
    surplus = list(newest_first[MAX_REVOKED_KEYS:])
    UsageCounter.objects.filter(pk__in=[usage_subject(key) for key in surplus]).delete()
    ApiKey.objects.filter(pk__in=[key.pk for key in surplus]).delete()


def usage_subject(key: ApiKey) -> str:
    """The subject of the key's rate limit."""
    return f"{KEY_SUBJECT_PREFIX}{key.id}"


def _key_changed_error() -> RefusalError:
    return RefusalError(
        PageCode.KEY_CHANGED,
        "There is no such key, or it was changed in another window. The list shows your current "
        "keys.",
    )


MAX_NAME_LENGTH = 60
DEFAULT_NAME = "Unnamed key"


def clean_name(text: str) -> str:
    """Normalize to one line without invisible or direction-changing characters."""
    letters = (
        letter if letter.isprintable() else " "
        for letter in unicodedata.normalize("NFC", text[: 4 * MAX_NAME_LENGTH])
        if unicodedata.category(letter) != "Cf"  # formats: directions, joiners, soft hyphens
    )
    return " ".join("".join(letters).split())[:MAX_NAME_LENGTH].strip() or DEFAULT_NAME
