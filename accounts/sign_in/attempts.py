"""Limits on attempts to sign in."""

from django.http import HttpRequest

from accounts.http.errors import PageCode
from accounts.http.rate_limits import client_network, refuse_over_quota, use_quota
from accounts.sign_in.siwe import browser_digest
from accounts.wallets import Wallet

WINDOW = 600  # seconds
ATTEMPTS_PER_NETWORK, ATTEMPTS_PER_BROWSER, ATTEMPTS_PER_WALLET = 200, 30, 30
WALLET_QUERIES_PER_NETWORK, PASSWORDS_PER_NETWORK = 20, 30
FROM_ADDRESS = "from this IP address"  # or IPv6 /64; "network" would read as the wallet's chain


def count_attempt(request: HttpRequest) -> None:
    _count(f"sign-in from {client_network(request)}", ATTEMPTS_PER_NETWORK, FROM_ADDRESS)
    if browser := browser_digest(request):
        _count(f"sign-in by {browser}", ATTEMPTS_PER_BROWSER, "in this browser")


def count_message(request: HttpRequest) -> None:
    _count(f"message to {client_network(request)}", ATTEMPTS_PER_NETWORK, FROM_ADDRESS)


def count_password(request: HttpRequest) -> None:
    _count(f"password from {client_network(request)}", PASSWORDS_PER_NETWORK, FROM_ADDRESS)


def count_wallet_query(request: HttpRequest) -> None:
    subject = f"question from {client_network(request)}"
    _count(subject, WALLET_QUERIES_PER_NETWORK, f"with contract wallets {FROM_ADDRESS}")


def count_signature(wallet: Wallet) -> None:
    """Call only after the signature was checked, so that no one can lock out another's wallet."""
    _count(wallet_subject(wallet), ATTEMPTS_PER_WALLET, "with this wallet")


def wallet_subject(wallet: Wallet) -> str:
    """The key under which the wallet's sign-ins are counted."""
    return f"sign-in as {wallet}"


def _count(subject: str, limit: int, source: str) -> None:
    sentence = f"There were {limit} attempts {source} in ten minutes."
    refuse_over_quota(use_quota(subject, limit, WINDOW), PageCode.TOO_MANY_ATTEMPTS, sentence)
