"""The documentation for whoever asks for proofs, and for whoever runs the service."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.site_address import site_address
from explorer.advice import ADVICE, OTHERWISE
from explorer.markdown import read_guide
from queries import limits

CONTRACT = settings.BASE_DIR / "queries" / "contracts" / "examples" / "SnapshotVote.sol"
# The guides in Markdown: file, and what search engines show of the page.
GUIDES = {
    "configuration": (
        settings.BASE_DIR / "explorer" / "docs" / "configuration.md",
        "Every setting of Tacitus, the routes file, registries and signers.",
    ),
    "contributing": (
        settings.BASE_DIR / "explorer" / "docs" / "contributing.md",
        "How to test, measure and change Tacitus.",
    ),
    "security": (
        settings.BASE_DIR / "SECURITY.md",
        "Whom Tacitus trusts with what, how to report a vulnerability, and what limits an attack.",
    ),
}
MONITORING = settings.BASE_DIR / "explorer" / "monitoring"
MONITORING_FILES = {"dashboard.json": "application/json", "alerts.yml": "application/yaml"}
# What the operators' page and a test of it begin with.
ROUTES = """\
[chains.11155111]
name = "Sepolia"
nodes = ["https://sepolia.example.org/v2/YOUR-KEY", "https://another.example.org"]
finality = "finalized"
dearest_gas_gwei = 50
most_a_day = 0.05
explorer = "https://sepolia.etherscan.io"
"""


@require_safe
def first_fact(request: HttpRequest) -> HttpResponse:
    context = {
        "site_url": site_address(request),
        "contract": CONTRACT.read_text().strip(),
        "advice": ADVICE.items(),
        "otherwise": OTHERWISE,
    }
    return render(request, "docs/first_fact.html", context)


@require_safe
def operating(request: HttpRequest) -> HttpResponse:
    context = {"routes": ROUTES.strip(), "limits": limits.described()}
    return render(request, "docs/operating.html", context)


@require_safe
def guide(request: HttpRequest, name: str) -> HttpResponse:
    file, description = GUIDES[name]
    context = {"guide": read_guide(file), "here": name, "description": description}
    return render(request, "docs/guide.html", context)


@require_safe
def monitoring(_request: HttpRequest, name: str) -> HttpResponse:
    """What Grafana and Prometheus are given."""
    return HttpResponse((MONITORING / name).read_bytes(), content_type=MONITORING_FILES[name])
