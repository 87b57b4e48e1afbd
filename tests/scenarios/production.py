"""A web server with production settings, and the headers of the proxy in front of it."""

from tests.rigs.service import Process, Service

SETTINGS = {
    "DEVELOPMENT": "0",
    "SECRET_KEY": "a-long-key-for-the-tests-alone-0123456789-abcdefghijklmnop",
    "SITE_URL": "https://proofs.example.org",
    "BEHIND_PROXY": "1",
}
# The proxy ends TLS; the client is at 192.0.2.1.
PROXY = {"Host": "proofs.example.org", "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"}


def serve_in_production(service: Service, **settings: str) -> Process:
    """Start a server; all later commands and requests use production settings too."""
    service.headers = PROXY
    static = service.folder / "static"
    service.settings |= {**SETTINGS, "STATIC_ROOT": str(static), **settings}
    service.manage("collectstatic", "--no-input")
    return service.serve()
