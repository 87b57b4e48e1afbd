"""API keys: made, shown, renamed, rotated, revoked. What one looks like: key_text.py."""

import unicodedata
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from accounts.keys.text import key_digest, key_text, new_id
from accounts.models import Account, Allowance, ApiKey
from accounts.shared.errors import KEY_GONE, TOO_MANY_KEY_CHANGES, TOO_MANY_KEYS, Refusal
from accounts.shared.rate_limits import KEY_SUBJECT, spend
from accounts.shared.wording import counted

KEYS_OF_AN_ACCOUNT = 20
CHANGES_AN_HOUR, HOUR = 20, 3_600
REVOKED_KEPT = 50  # of an account
FIRST_NAME = "First key"
# How long the old secret of a rotated key may still work.
GRACE_PERIODS = {
    0: "at once",
    3_600: "after 1 hour",
    86_400: "after 1 day",
    604_800: "after 7 days",
}


def count_change(owner: Account) -> None:
    """Before a key is made or rotated in a browser; together they have one allowance."""
    spent = spend(f"keys of {owner.pk}", CHANGES_AN_HOUR, HOUR)
    if not spent.allowed:
        raise Refusal(
            TOO_MANY_KEY_CHANGES,
            f"An account may create or rotate {CHANGES_AN_HOUR} keys an hour. "
            f"Try again in {counted(-(-spent.seconds_left // 60), 'minute')}.",
            headers={"Retry-After": str(spent.seconds_left)},
        )


def add_key(owner: Account, name: str) -> ApiKey:
    with transaction.atomic():
        # One at a time for an account, so that two together cannot pass the limit.
        Account.objects.select_for_update().get(pk=owner.pk)
        if owner.keys.filter(revoked=None).count() >= KEYS_OF_AN_ACCOUNT:
            raise Refusal(
                TOO_MANY_KEYS,
                f"An account has at most {KEYS_OF_AN_ACCOUNT} keys. Revoke one that is not used.",
            )
        key = ApiKey(id=new_id(), owner=owner, name=name)
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


def rename(owner: Account, key_id: str, name: str) -> None:
    if not owner.keys.filter(pk=key_id, revoked=None).update(name=name):
        raise _gone()


def rotate(owner: Account, key_id: str, seen: int, grace: timedelta) -> ApiKey:
    """A new secret for the key. The old one works for `grace`; any older one ends now.

    `seen` is the version that the owner saw. If another window has rotated the key since, this is
    refused, so that a second click does not end the newer secret or a promised grace.
    """
    living = owner.keys.filter(pk=key_id, revoked=None, version=seen)
    key = living.first()
    if key is None:
        raise _gone()
    changed = living.update(
        version=seen + 1,
        digest=key_digest(key_text(key.id, seen + 1, settings.SECRET_KEY)),
        previous_digest=key.digest if grace else "",
        previous_until=timezone.now() + grace if grace else None,
    )
    if not changed:
        raise _gone()
    return owner.keys.get(pk=key_id)


def end_grace(owner: Account, key_id: str, seen: int) -> ApiKey:
    """The secret before this one is refused from now on."""
    living = owner.keys.filter(pk=key_id, revoked=None, version=seen)
    if not living.update(previous_digest="", previous_until=None):
        raise _gone()
    return owner.keys.get(pk=key_id)


def revoke(owner: Account, key_id: str) -> ApiKey:
    key = owner.keys.filter(pk=key_id).first()
    if key is None or not revoke_all(owner.keys.filter(pk=key_id)):
        raise _gone()
    return key


def revoke_all(keys: QuerySet[ApiKey]) -> int:
    """How many were not revoked yet.

    Every worker asks the database each time, so they are refused from now on.
    """
    owners = list(Account.objects.filter(keys__in=keys).distinct())
    count = keys.filter(revoked=None).update(
        revoked=timezone.now(), previous_digest="", previous_until=None
    )
    for owner in owners:
        _forget_the_oldest(owner)
    return count


def _forget_the_oldest(owner: Account) -> None:
    """Making and revoking keys in turn would otherwise leave rows for ever."""
    newest_first = owner.keys.exclude(revoked=None).order_by("-revoked", "pk")
    old = list(newest_first[REVOKED_KEPT:])
    Allowance.objects.filter(pk__in=[subject(key) for key in old]).delete()
    ApiKey.objects.filter(pk__in=[key.pk for key in old]).delete()


def subject(key: ApiKey) -> str:
    """What the key's use is counted under."""
    return f"{KEY_SUBJECT}{key.id}"


def _gone() -> Refusal:
    return Refusal(
        KEY_GONE,
        "There is no such key, or it was changed in another window. The list shows what there is.",
    )


LONGEST_NAME = 60
UNNAMED = "Unnamed key"


def key_name(typed: str) -> str:
    """On one line, composed, and without characters that cannot be seen or turn others around."""
    seen = (
        each if each.isprintable() else " "
        for each in unicodedata.normalize("NFC", typed[: 4 * LONGEST_NAME])
        if unicodedata.category(each) != "Cf"  # formats: directions, joiners, soft hyphens
    )
    return " ".join("".join(seen).split())[:LONGEST_NAME].strip() or UNNAMED
