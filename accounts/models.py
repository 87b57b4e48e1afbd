"""Accounts, their API keys and sessions, sign-in nonces, and the use of rate limits."""

from typing import ClassVar

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.hashers import make_password
from django.contrib.sessions.base_session import AbstractBaseSession
from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone

from accounts.wallets import Wallet, short_hash


class AccountManager(BaseUserManager["Account"]):
    def create_superuser(self, username: str, password: str | None = None) -> "Account":
        """Create an operator without a wallet, for `tacitus createsuperuser`."""
        account = self.model(username=username, is_operator=True)
        account.set_password(password)
        account.full_clean()
        account.save()
        return account

    def get_or_create_for_wallet(self, wallet: Wallet) -> tuple["Account", bool]:
        """Get or create the wallet's account; the flag says whether it is new."""
        no_password = {"password": make_password(None)}
        return self.get_or_create(
            address=wallet.address, chain_id=wallet.chain_id, defaults=no_password
        )


class Account(AbstractBaseUser):
    """The account of a wallet, or of an operator with a password (`createsuperuser`)."""

    address = models.CharField(max_length=42, null=True, blank=True, editable=False)
    # A contract wallet's chain; None if the address's own key signs.
    chain_id = models.PositiveBigIntegerField("chain", null=True, blank=True, editable=False)
    username = models.CharField(
        max_length=150,
        unique=True,
        null=True,
        blank=True,
        # A name must not look like an address.
        validators=[RegexValidator(r"\A(?!0[xX])[A-Za-z0-9._-]+\Z", "letters, digits, . _ and -")],
    )
    is_operator = models.BooleanField(default=False, editable=False)
    is_active = models.BooleanField(
        "enabled", default=True, help_text="A disabled account is signed out and its keys refused."
    )
    created_at = models.DateTimeField("created", default=timezone.now, editable=False)

    USERNAME_FIELD = "username"
    objects = AccountManager()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                name="accounts_account_wallet_or_name",
                condition=models.Q(address__isnull=False, username__isnull=True)
                | models.Q(
                    address__isnull=True,
                    chain_id__isnull=True,
                    username__isnull=False,
                    username__gt="",
                ),
            ),
            # Two, because in a unique index NULLs differ from each other.
            models.UniqueConstraint(
                name="accounts_account_unique_address",
                fields=["address"],
                condition=models.Q(chain_id__isnull=True),
            ),
            models.UniqueConstraint(
                name="accounts_account_unique_contract_wallet",
                fields=["address", "chain_id"],
                condition=models.Q(chain_id__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        if self.chain_id is not None:
            return f"{self.address} on chain {self.chain_id}"
        return self.owner_name

    def get_short_name(self) -> str:
        """The abbreviated owner, for the admin's greeting and its list of keys."""
        chain = "" if self.chain_id is None else f" on chain {self.chain_id}"
        return short_hash(self.owner_name) + chain

    @property
    def wallet(self) -> Wallet | None:
        return Wallet(self.address, self.chain_id) if self.address else None

    @property
    def owner_name(self) -> str:
        """The owner without the chain, which the API returns in a field of its own."""
        return self.address or self.username or ""

    @property
    def is_staff(self) -> bool:
        """Read from the settings each time, so that removing a wallet takes effect at once."""
        return self.is_operator or (
            self.wallet is not None and str(self.wallet) in settings.OPERATORS
        )

    def has_perm(self, _permission: str, _row: object = None) -> bool:
        return self.is_active and self.is_staff

    def has_module_perms(self, _app: str) -> bool:
        return self.is_active and self.is_staff


class ApiKey(models.Model):
    """An API key. Only its digest is stored: the secret is derived, see keys/text.py."""

    id = models.CharField(max_length=10, primary_key=True, editable=False)
    owner = models.ForeignKey(Account, models.CASCADE, related_name="keys", editable=False)
    name = models.CharField(max_length=60)
    version = models.PositiveIntegerField(default=1, editable=False)
    digest = models.CharField(max_length=64, editable=False)
    previous_digest = models.CharField(max_length=64, default="", editable=False)
    previous_until = models.DateTimeField(null=True, editable=False)
    created_at = models.DateTimeField("created", default=timezone.now, editable=False)
    revoked_at = models.DateTimeField("revoked", null=True, blank=True, editable=False)

    class Meta:
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"{self.name} ({self.id})"

    @property
    def is_in_grace(self) -> bool:
        """Whether the secret before this one still works."""
        return self.previous_until is not None and timezone.now() < self.previous_until


class Session(AbstractBaseSession):
    """A signed-in browser. `session_key` is a digest of the key in its cookie."""

    account = models.ForeignKey(Account, models.CASCADE, null=True, related_name="sessions")
    browser = models.CharField(max_length=60, default="")
    signed_in_at = models.DateTimeField(null=True)
    last_seen = models.DateTimeField(null=True)


class SignInNonce(models.Model):
    """A sign-in message that was issued to a browser or program."""

    nonce = models.CharField(max_length=32, primary_key=True)
    browser = models.CharField(max_length=64)
    address = models.CharField(max_length=42)
    chain_id = models.PositiveBigIntegerField()
    issued_at = models.DateTimeField(db_index=True)
    spent_at = models.DateTimeField(null=True)


class UsageCounter(models.Model):
    """A subject's use of its rate limit; times are unix seconds of the database's clock."""

    subject = models.CharField(max_length=100, primary_key=True)
    window_start = models.BigIntegerField()
    window_count = models.BigIntegerField()
    day = models.BigIntegerField()
    day_count = models.BigIntegerField()
    total_count = models.BigIntegerField()
    last_used = models.BigIntegerField(db_index=True)
