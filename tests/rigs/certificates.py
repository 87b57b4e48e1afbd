"""Self-signed certificates, made when they are needed so that the repository has no key."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from Crypto.Hash import SHA1, SHA256
from Crypto.PublicKey import ECC
from Crypto.Signature import DSS

BOOLEAN, INTEGER, BITS, OCTETS, ID, TEXT, TIME, SEQUENCE, SET = (
    0x01, 0x02, 0x03, 0x04, 0x06, 0x0C, 0x17, 0x30, 0x31,
)  # fmt: skip
VERSION, EXTENSIONS, DNS_NAME, ADDRESS = 0xA0, 0xA3, 0x82, 0x87
ECDSA_WITH_SHA256 = bytes.fromhex("2a8648ce3d040302")
COMMON_NAME, KEY_ID, KEY_USAGE, OTHER_NAMES, CONSTRAINTS = (
    bytes.fromhex(oid) for oid in ("550403", "551d0e", "551d0f", "551d11", "551d13")
)
# Digital signatures and certificates, as of an authority.
SIGNS = b"\2\x84"
DAY = timedelta(days=1)
LONG = 0x80  # flag of a length that is preceded by its own size


def self_signed_certificate(folder: Path, host: str, ends: timedelta = DAY) -> Path:
    """A certificate for a host name or IP address, in a file with its key."""
    key = ECC.generate(curve="P-256")
    now = datetime.now(UTC)
    content = _content(key, host, now - 9 * DAY, now + ends)
    signed = DSS.new(key, "fips-186-3", encoding="der").sign(SHA256.new(content))
    whole = _der(SEQUENCE, content, _algorithm(), _der(BITS, b"\0", signed))
    file = folder / "certificate.pem"
    file.write_text(f"{ssl.DER_cert_to_PEM_cert(whole)}{key.export_key(format='PEM')}\n")
    return file


def _content(key: ECC.EccKey, host: str, begin: datetime, end: datetime) -> bytes:
    name = _der(SEQUENCE, _der(ID, COMMON_NAME), _der(TEXT, b"Nobody"))
    issuer = _der(SEQUENCE, _der(SET, name))
    public = bytes(key.public_key().export_key(format="DER"))
    extensions = (
        _extension(CONSTRAINTS, _der(SEQUENCE, _der(BOOLEAN, b"\xff")), critical=True),
        _extension(KEY_USAGE, _der(BITS, SIGNS), critical=True),
        _extension(KEY_ID, _der(OCTETS, SHA1.new(public).digest())),
        _extension(OTHER_NAMES, _der(SEQUENCE, _host_name(host))),
    )
    return _der(
        SEQUENCE,
        _der(VERSION, _der(INTEGER, b"\2")),
        _der(INTEGER, b"\1"),
        _algorithm(),
        issuer,
        _der(SEQUENCE, _time(begin), _time(end)),
        issuer,
        public,
        _der(EXTENSIONS, _der(SEQUENCE, *extensions)),
    )


def _host_name(host: str) -> bytes:
    try:
        return _der(ADDRESS, ip_address(host).packed)
    except ValueError:
        return _der(DNS_NAME, host.encode())


def _extension(kind: bytes, value: bytes, *, critical: bool = False) -> bytes:
    weight = _der(BOOLEAN, b"\xff") if critical else b""
    return _der(SEQUENCE, _der(ID, kind), weight, _der(OCTETS, value))


def _algorithm() -> bytes:
    return _der(SEQUENCE, _der(ID, ECDSA_WITH_SHA256))


def _time(moment: datetime) -> bytes:
    return _der(TIME, f"{moment:%y%m%d%H%M%S}Z".encode())


def _der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    size = len(content)
    long = size.to_bytes((size.bit_length() + 7) // 8, "big")
    length = [size] if size < LONG else [LONG | len(long), *long]
    return bytes([tag, *length]) + content
