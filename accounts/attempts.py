"""How often someone may try to sign in.

By network and by browser before anything is read; messages to sign and passwords by network alone.
Questions to the nodes of a chain, which cost the service seconds, are far fewer. By wallet only
after its signature was found valid, so that nobody can lock a stranger out of his own.
"""

from django.http import HttpRequest

from accounts.client_address import client_network
from accounts.counting import counted
from accounts.rate_limits import spend
from accounts.sign_in_refusals import TooManyAttempts
from accounts.wallet_login import browser_digest
from accounts.wallets import Wallet

WINDOW = 600  # seconds
OF_A_NETWORK, OF_A_BROWSER, OF_A_WALLET = 200, 30, 30
QUESTIONS_OF_A_NETWORK, PASSWORDS_OF_A_NETWORK = 20, 30


def count_attempt(request: HttpRequest) -> None:
    _count(f"sign-in from {client_network(request)}", OF_A_NETWORK, "from this network")
    _count(f"sign-in by {browser_digest(request)}", OF_A_BROWSER, "in this browser")


def count_message(request: HttpRequest) -> None:
    _count(f"message to {client_network(request)}", OF_A_NETWORK, "from this network")


def count_password(request: HttpRequest) -> None:
    most = PASSWORDS_OF_A_NETWORK
    _count(f"password from {client_network(request)}", most, "from this network")


def count_question(request: HttpRequest) -> None:
    most = QUESTIONS_OF_A_NETWORK
    _count(f"question from {client_network(request)}", most, "with contract wallets from here")


def count_signed(wallet: Wallet) -> None:
    _count(f"sign-in as {wallet}", OF_A_WALLET, "with this wallet")


def _count(subject: str, most: int, whose: str) -> None:
    spent = spend(subject, most, WINDOW)
    if not spent.allowed:
        raise TooManyAttempts(
            f"There were {most} attempts {whose} in ten minutes. "
            f"Try again in {counted(spent.seconds_left, 'second')}.",
            headers={"Retry-After": str(spent.seconds_left)},
        )
