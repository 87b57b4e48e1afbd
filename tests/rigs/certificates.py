"""Self-signed certificates, made when they are needed so that the repository has no key."""

import subprocess
from pathlib import Path

CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def self_signed_certificate(folder: Path, name: str, *, expired: bool = False) -> Path:
    """A certificate for a name like DNS:receiver.example, in a file with its key."""
    key, file = folder / "key.pem", folder / "certificate.pem"
    options = ("-subj", "/CN=Nobody", "-addext", f"subjectAltName={name}", "-keyout", key)
    _run("req", "-x509", *CURVE, *options, "-out", file)
    if expired:
        _run("x509", "-in", file, "-key", key, "-days", "-1", "-out", file)
    file.write_text(file.read_text() + key.read_text())
    return file


def _run(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
