"""The documentation for whoever asks for proofs, and for whoever runs the service."""

from collections import Counter

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.site_address import site_address
from explorer.advice import ADVICE
from explorer.growth.figures import Figures, described
from explorer.growth.shown import growth
from explorer.security.analysis import EXPLAINED
from explorer.security.bounds import BOUNDS
from explorer.security.dependencies import DEPENDENCIES, IMAGES
from explorer.security.fuzzed import last_campaign
from explorer.security.rows import Verdict
from explorer.security.walk import CHAPTERS

CONTRACT = settings.BASE_DIR / "queries" / "contracts" / "examples" / "SnapshotVote.sol"
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
    }
    return render(request, "docs/first_fact.html", context)


@require_safe
def operating(request: HttpRequest) -> HttpResponse:
    return render(request, "docs/operating.html", {"routes": ROUTES.strip()})


@require_safe
def security(request: HttpRequest) -> HttpResponse:
    rows = [each for part in CHAPTERS for each in part.requirements]
    verdicts = Counter(each.verdict.name for each in rows)
    context = {
        "chapters": CHAPTERS,
        "gaps": [each for each in rows if each.verdict is Verdict.NOT_MET],
        "bounds": BOUNDS,
        "campaign": last_campaign(),
        "explained": EXPLAINED,
        "dependencies": DEPENDENCIES,
        "images": IMAGES.items(),
        **{verdict.name.lower(): verdicts[verdict.name] for verdict in Verdict},
    }
    return render(request, "docs/security.html", context)


@require_safe
def how_it_grows(request: HttpRequest) -> HttpResponse:
    context = {"growth": growth(Figures()), "figures": described()}
    return render(request, "docs/growth.html", context)


@require_safe
def monitoring(_request: HttpRequest, name: str) -> HttpResponse:
    """What Grafana and Prometheus are given."""
    return HttpResponse((MONITORING / name).read_bytes(), content_type=MONITORING_FILES[name])
