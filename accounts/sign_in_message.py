"""The message that a wallet signs to sign in (EIP-4361).

The service writes the whole of it, so what a signed one must say is known to the last byte. The
`siwe` package reads one, which tells in which field a forged one differs.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, NoReturn

from pydantic import ValidationError

from accounts import sign_in_refusals as refusals
from accounts.eip4361 import siwe

if TYPE_CHECKING:
    from siwe import SiweMessage

STATEMENT = "Sign in to Tacitus and see your API keys. This costs nothing and moves nothing."
VALID_FOR = timedelta(minutes=5)
CLOCKS_DIFFER = timedelta(minutes=2)  # of the servers that issue and read, at the most
PATH = "/sign-in"
# Characters beyond those of ours: who changed a message hears in which field. The package that
# reads them takes the square of a line's length, a second for 1,500.
SPARE, SPARE_OF_A_LINE = 100, 50


@dataclass(frozen=True, slots=True)
class SignInMessage:
    """What the service issued, or would have."""

    origin: str  # such as https://proofs.example.org
    address: str
    chain_id: int
    nonce: str
    issued: datetime

    @property
    def domain(self) -> str:
        return self.origin.partition("://")[2]

    @property
    def text(self) -> str:
        message = siwe().SiweMessage(
            domain=self.domain,
            address=self.address,
            statement=STATEMENT,
            uri=self.origin + PATH,
            version="1",
            chain_id=self.chain_id,
            nonce=self.nonce,
            issued_at=stamp(self.issued),
            expiration_time=stamp(self.issued + VALID_FOR),
            not_before=stamp(self.issued),
        )
        return str(message.prepare_message())


def stamp(moment: datetime) -> str:
    return str(siwe().siwe.ISO8601Datetime.from_datetime(moment, timespec="seconds"))


@cache  # origins are those that the operator named
def _most(origin: str) -> tuple[int, int]:
    """Characters of a message, and of a line of it."""
    nobody = f"0x{'0' * 40}"
    ours = SignInMessage(origin, nobody, 1, "0" * 16, datetime.fromtimestamp(0, UTC)).text
    return len(ours) + SPARE, max(map(len, ours.split("\n"))) + SPARE_OF_A_LINE


def read_message(text: str, origin: str) -> "SiweMessage":
    """`text` as fields, if it is one message in plain letters; a refusal says what it is not."""
    most, most_of_a_line = _most(origin)
    if len(text) > most:
        raise refusals.MessageTooLong(
            f"The message has {len(text)} characters; {most} are the most.", path="message"
        )
    if any(len(line) > most_of_a_line for line in text.split("\n")):
        raise refusals.MessageTooLong(
            f"A line of the message has more than {most_of_a_line} characters.", path="message"
        )
    if not text.isascii():
        raise refusals.MessageNotPlain(
            "The message holds characters beyond ASCII, which can look like others.",
            path="message",
        )
    try:
        return siwe().SiweMessage.from_message(text)
    except ValidationError as error:
        _refuse_field(str(error.errors()[0]["loc"][0]))
    except Exception:  # noqa: BLE001  (siwe lets its parser's and others' through)
        if re.search(r"^Version: (?!1$)", text, re.MULTILINE):
            raise refusals.WrongVersion(
                "The message is of another version of EIP-4361 than 1.", path="message"
            ) from None
        raise refusals.MessageMalformed(
            "The message is not written as EIP-4361 says.", path="message"
        ) from None


def _refuse_field(name: str) -> NoReturn:
    if name == "address":
        raise refusals.AddressNotChecksummed(
            "The message does not write the address with its checksum (EIP-55).", path="message"
        ) from None
    if name in {"issued_at", "expiration_time", "not_before"}:
        raise refusals.TimeMalformed(
            f"The message's {name.replace('_', '-')} is no date and time.", path="message"
        ) from None
    raise refusals.MessageMalformed(
        f"The message's {name.replace('_', '-')} cannot be.", path="message"
    ) from None


def compare_places(message: "SiweMessage", origin: str) -> None:
    """For whom the message was signed: a page elsewhere gets its own signed, never ours."""
    domain = origin.partition("://")[2]
    if message.scheme is not None:
        raise refusals.WrongScheme("The message names a scheme; ours do not.", path="message")
    if message.domain != domain:
        raise refusals.WrongDomain(
            f"The message was signed for {message.domain[:100]}, not for {domain}.",
            path="message",
        )
    if message.uri != origin + PATH:
        raise refusals.WrongUri(f"The message's URI is not {origin + PATH}.", path="message")
    if message.statement != STATEMENT:
        raise refusals.WrongStatement("The message's statement is not ours.", path="message")
    if message.request_id is not None or message.resources is not None:
        raise refusals.UnknownExtras(
            "The message has a request id or resources; ours have none.", path="message"
        )


def compare_times(message: "SiweMessage", now: datetime) -> None:
    if message.expiration_time is None:
        raise refusals.ExpiryMissing("The message never expires.", path="message")
    if message.not_before is None:
        raise refusals.NotBeforeMissing("The message does not say from when on.", path="message")
    if _moment(message.expiration_time) <= now:
        raise refusals.MessageExpired("The message has expired. Sign in again.", path="message")
    if _moment(message.not_before) > now + CLOCKS_DIFFER:
        raise refusals.NotYetValid("The message is not valid yet.", path="message")
    if _moment(message.issued_at) > now + CLOCKS_DIFFER:
        raise refusals.IssuedInFuture("The message was issued in the future.", path="message")


def _moment(stamp: str) -> datetime:
    moment = datetime.fromisoformat(stamp)
    if moment.tzinfo is None:
        raise refusals.TimeMalformed("A time in the message has no zone.", path="message")
    return moment


def compare_with_issued(message: "SiweMessage", text: str, issued: SignInMessage) -> None:
    """Field by field, so that each has its reason; at the end all of it."""
    if message.address != issued.address:
        raise refusals.WrongAddress(
            "The message is for another account than the one that asked.", path="message"
        )
    if message.chain_id != issued.chain_id:
        raise refusals.WrongChain(
            "The message is for another network than the one that asked.", path="message"
        )
    times = (message.issued_at, message.expiration_time, message.not_before)
    start = stamp(issued.issued)
    if times != (start, stamp(issued.issued + VALID_FOR), start):
        raise refusals.WrongTimes("The message's times are not those we issued.", path="message")
    if text != issued.text:
        raise refusals.NotOurWords("The message is not, word by word, ours.", path="message")
