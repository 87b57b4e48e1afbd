"""Accounts, their API keys and sessions, sign-in nonces, and use of limits."""

from typing import ClassVar

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.sessions.base_session import AbstractBaseSession
from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone

from accounts.sign_in.wallets import Wallet, shortened


class AccountManager(BaseUserManager["Account"]):
    def create_superuser(self, username: str, password: str | None = None) -> "Account":
        """An operator without a wallet: what `manage.py createsuperuser` asks for."""
        account = self.model(username=username, is_operator=True)
        account.set_password(password)
        account.full_clean()
        account.save()
        return account

    def of_wallet(self, wallet: Wallet) -> tuple["Account", bool]:
        """The account of this wallet, and whether it is new."""
        address, chain_id = wallet.address, wallet.chain_id
        account = self.filter(address=address, chain_id=chain_id).first()
        if account is not None:
            return account, False
        new = self.model(address=address)
        new.set_unusable_password()
        return self.get_or_create(
            address=address, chain_id=chain_id, defaults={"password": new.password}
        )


class Account(AbstractBaseUser):
    """The account of a wallet, or of an operator with a password (`createsuperuser`)."""

    address = models.CharField(  # noqa: DJ001  (no wallet is no address)
        max_length=42, null=True, blank=True, editable=False
    )
    # Of a contract wallet: the chain whose nodes say what it accepts. None: the address's own key.
    chain_id = models.PositiveBigIntegerField("chain", null=True, blank=True, editable=False)
    username = models.CharField(
        max_length=150,
        unique=True,
        null=True,
        blank=True,
        # No name may look like a wallet's.
        validators=[RegexValidator(r"\A(?!0[xX])[A-Za-z0-9._-]+\Z", "letters, digits, . _ and -")],
    )
    is_operator = models.BooleanField(default=False, editable=False)
    is_active = models.BooleanField(
        "enabled", default=True, help_text="A disabled account is signed out and its keys refused."
    )
    created = models.DateTimeField(default=timezone.now, editable=False)

    USERNAME_FIELD = "username"
    objects = AccountManager()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                name="account_has_a_wallet_or_a_name",
                condition=models.Q(address__isnull=False, username__isnull=True)
                | models.Q(
                    address__isnull=True,
                    chain_id__isnull=True,
                    username__isnull=False,
                    username__gt="",
                ),
            ),
            # Two, because to a database no NULL is another's equal.
            models.UniqueConstraint(
                name="one_account_of_a_key",
                fields=["address"],
                condition=models.Q(chain_id__isnull=True),
            ),
            models.UniqueConstraint(
                name="one_account_of_a_contract_wallet",
                fields=["address", "chain_id"],
                condition=models.Q(chain_id__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        if self.chain_id is not None:
            return f"{self.address} on chain {self.chain_id}"
        return self.owner_name

    def get_short_name(self) -> str:
        """As the admin greets one, and lists a key's owner."""
        chain = "" if self.chain_id is None else f" on chain {self.chain_id}"
        return shortened(self.owner_name) + chain

    @property
    def wallet(self) -> Wallet | None:
        return Wallet(self.address, self.chain_id) if self.address else None

    @property
    def owner_name(self) -> str:
        """Without the chain, which programs read beside it."""
        return self.address or self.username or ""

    @property
    def is_staff(self) -> bool:
        """Asked of the settings each time, so that a wallet taken out there is out at once."""
        named = self.wallet is not None and str(self.wallet) in settings.OPERATORS
        return self.is_operator or named

    def has_perm(self, _permission: str, _row: object = None) -> bool:
        return self.is_active and self.is_staff

    def has_module_perms(self, _app: str) -> bool:
        return self.is_active and self.is_staff


class ApiKey(models.Model):
    """A key without its secret: that is derived, see `api_keys.py`, and here is only its digest."""

    id = models.CharField(max_length=10, primary_key=True, editable=False)
    owner = models.ForeignKey(Account, models.CASCADE, related_name="keys", editable=False)
    name = models.CharField(max_length=60)
    version = models.PositiveIntegerField(default=1, editable=False)
    digest = models.CharField(max_length=64, editable=False)
    previous_digest = models.CharField(max_length=64, default="", editable=False)
    previous_until = models.DateTimeField(null=True, editable=False)
    created = models.DateTimeField(default=timezone.now, editable=False)
    revoked = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name = "API key"

    def __str__(self) -> str:
        return f"{self.name} ({self.id})"


class Session(AbstractBaseSession):
    """A browser that is signed in. `session_key` is a digest of what its cookie holds."""

    account = models.ForeignKey(Account, models.CASCADE, null=True, related_name="sessions")
    browser = models.CharField(max_length=60, default="")
    signed_in = models.DateTimeField(null=True)
    last_seen = models.DateTimeField(null=True)


class SignInNonce(models.Model):
    """A sign-in that a browser asked for: what its message must say, and whether it was used."""

    nonce = models.CharField(max_length=32, primary_key=True)
    browser = models.CharField(max_length=64)
    address = models.CharField(max_length=42)
    chain_id = models.PositiveBigIntegerField()
    issued = models.DateTimeField(db_index=True)
    spent = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.nonce


class Allowance(models.Model):
    """How much of a limit is used, in whole seconds of the database's clock; see rate_limits.py."""

    subject = models.CharField(max_length=100, primary_key=True)
    window_began = models.BigIntegerField()
    window_used = models.BigIntegerField()
    day = models.BigIntegerField()
    day_used = models.BigIntegerField()
    used = models.BigIntegerField()
    last_used = models.BigIntegerField(db_index=True)

    def __str__(self) -> str:
        return self.subject
