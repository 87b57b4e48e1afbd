"""Facts of a query, and the page of a fact at its permanent address."""

import re
from collections.abc import Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from eth_utils.address import to_checksum_address

from accounts.http.rate_limits import client_network, use_quota
from explorer.pages.decoding import proves_no_account
from explorer.pages.fact_kinds import decode_fact, fact_details, fact_display, fact_picture
from explorer.pages.links import PageLinks
from explorer.pages.lists import chain_parameter
from explorer.pages.sentences import fact_sentence, unproven_sentence
from explorer.pages.snippets import fact_call, snippets
from explorer.wiring import RegistryAnswer, RegistryOutcome, ask_registry
from queries.contracts.create2 import verifier_address
from queries.facts import BLOCK_AT_TIME
from queries.proving import HeaderField, keccak256
from queries.proving.facts import BlockAtTimeFact, parse_fact
from queries.reading import (
    FactMatch,
    FactView,
    facts_mentioning,
    find_fact,
    open_batch,
    read_fact_proof,
)
from queries.schema.bodies import ADDRESS

HEADER, EVENTS = "header", "events"  # the subjects of facts of a block in URLs


def answer_context(fact: FactView, links: PageLinks) -> dict[str, Any]:
    """The context of `parts/fact_answer.html`."""
    value = decode_fact(fact, links.currency(fact.source))
    return {"fact": fact, "value": value, "forms": fact_display(fact).word_forms(fact)}


MAX_CHECKS, CHECK_SECONDS = 20, 60  # for each network of visitors


def check_wait_seconds(request: HttpRequest) -> int:
    """Count a check that asks nodes; returns 0, or the seconds until the visitor may repeat it."""
    quota = use_quota(f"registry check from {client_network(request)}", MAX_CHECKS, CHECK_SECONDS)
    return 0 if quota.is_allowed else quota.seconds_left


def fact_url(fact: FactView, page: str = "") -> str:
    """The fact's permanent address; it names the destination if that is another chain.

    Not by `reverse`, which took a tenth of the time of a page with many facts.
    """
    query = [f"at={fact.identity.key}"] * fact.is_time
    if fact.destination != fact.source:
        query.append(f"to={fact.destination}")
    return _path(fact) + page + ("?" + "&".join(query) if query else "")


def _path(fact: FactView) -> str:
    name = BLOCK_AT_TIME if fact.is_time else fact.identity.name
    return f"/explorer/fact/{fact.source}/{fact.block}/{_subject(fact)}/{name}"


def _subject(fact: FactView) -> str:
    return fact.account or (EVENTS if fact.event else HEADER)


BREAK = "\\\n"  # of a line in a shell


def _check_text(fact: FactView, registry: str, word: str) -> str:
    """The text whose Keccak-256 hash begins with the fact's check code; `word` is its value."""
    place = f"{fact.destination} {registry} {fact.source} {fact.block}"
    return f"{place} {_subject(fact)} {fact.identity.name} {word}"


def check_code(fact: FactView, registry: str) -> str:
    """A few digits that differ if the fact or its value does: to compare by voice, or with paper.
    Such as `4f2a-91c3`.
    """
    digits = keccak256(_check_text(fact, registry, fact.word).encode()).hex()
    return f"{digits[:4]}-{digits[4:8]}"


def _check_command(fact: FactView, registry: str) -> str:
    """A command that reads the value and prints a hash that begins with the check code. That of an
    event prints what the verifier says, because no view returns the hash that is its value.
    """
    if fact.event:
        reader = verifier_address(registry)
        return next(entry.text for entry in snippets(fact, reader) if entry.key == "cast")
    call = fact_call(fact)
    types = ",".join(argument.type for argument in call.arguments)
    arguments = " ".join(argument.shell for argument in call.arguments)
    read = f'$(cast call {registry} "{call.function}({types})" {arguments} --rpc-url "$RPC")'
    return f'cast keccak "{_check_text(fact, registry, f"{BREAK}{read}")}"'


def fact(request: HttpRequest, links: PageLinks, **path: Any) -> HttpResponse:
    named_fact = parse_path(**path)
    if (path["subject"], path["name"]) != (_subject(named_fact), named_fact.name):
        query = request.GET.urlencode()
        return redirect(_path(named_fact) + (f"?{query}" if query else ""), permanent=True)
    matches = find_fact(named_fact)
    if not matches:
        return _unknown_fact(request, named_fact, links)
    context = _fact_context(request, matches, links)
    return _fact_response(request, "read_it", context, links)


def check(request: HttpRequest, links: PageLinks, **path: Any) -> HttpResponse:
    matches = find_fact(parse_path(**path))
    if not matches:
        raise Http404
    context = _fact_context(request, matches, links)
    fact = context["fact"]
    if seconds := check_wait_seconds(request):
        answer = RegistryAnswer(RegistryOutcome.TOO_OFTEN, seconds=seconds)
    else:
        answer = ask_registry(fact, links.routes)
    context["check"] = answer
    if answer.outcome is RegistryOutcome.DIFFERS:
        other = replace(fact, word=answer.word, details={})
        context["registry_answer"] = decode_fact(other, links.currency(fact.source))
    return _fact_response(request, "check_answer", context, links)


def parse_path(source: int, block: int, subject: str, name: str) -> FactView:
    """The fact that a URL names, by any spelling of account, field and slot. Raises Http404."""
    account, fact, field = "", None, name.upper()
    if re.fullmatch(ADDRESS, subject):
        account, slot = to_checksum_address(subject), _slot_number(name)
        canonical_name = field if slot is None else f"0x{slot:064x}"
        fact = parse_fact(canonical_name, bytes.fromhex(account[2:]))
    elif subject.lower() == EVENTS:
        kind, _, place = name.partition(":")
        fact = parse_fact(f"{kind.upper()}:{place.lower()}")
    elif subject.lower() == HEADER and field in HeaderField.__members__:
        fact = parse_fact(field)
    if field == BLOCK_AT_TIME and (account or subject.lower() == HEADER):
        account, fact = "", BlockAtTimeFact()
    if fact is None:
        raise Http404
    return FactView(fact, source, source, block, account)


def _slot_number(text: str) -> int | None:
    if re.fullmatch("0x[0-9a-fA-F]{1,64}", text):
        return int(text, 16)
    if re.fullmatch("[0-9]{1,78}", text) and int(text) < 2**256:
        return int(text)
    return None


def _unknown_fact(request: HttpRequest, fact: FactView, links: PageLinks) -> HttpResponse:
    """Offer to prove it."""
    form = {"source": fact.source, "block": fact.block, "account": fact.account}
    form |= fact_display(fact).form_fields(fact)
    context = {
        "sentence": unproven_sentence(fact, links),
        "is_provable": fact.source in links.sources,
        "open_batch": open_batch(fact),
        "form": urlencode({name: value for name, value in form.items() if value != ""}),
    }
    return render(request, "unknown_fact.html", context, status=HTTPStatus.NOT_FOUND)


def requested_match(request: HttpRequest, matches: Sequence[FactMatch]) -> FactMatch:
    """The fact on the requested destination, or on the first one. Raises Http404."""
    destination, seconds = chain_parameter(request, "to"), chain_parameter(request, "at")
    match = next(
        (
            entry
            for entry in matches
            if destination in {None, entry.fact.destination}
            and (seconds is None or seconds == entry.fact.identity.key)
        ),
        None,
    )
    if match is None:
        raise Http404
    return match


def _fact_context(
    request: HttpRequest, matches: Sequence[FactMatch], links: PageLinks
) -> dict[str, Any]:
    match = requested_match(request, matches)
    fact = match.fact
    route = links.registry(fact.source, fact.destination)
    registry = route.address if route else ""
    reader = verifier_address(registry) if registry and fact.event else registry
    transaction = match.event_transaction
    mentions = facts_mentioning(fact.source, transaction) if transaction else ()
    return {
        **answer_context(fact, links),
        "match": match,
        "others": [entry for entry in matches if entry is not match],
        "route": route,
        "sentence": fact_sentence(fact, links),
        "absent": proves_no_account(match.account_fields),
        "registry": registry,
        "check_code": check_code(fact, registry) if registry else "",
        "check_command": _check_command(fact, registry) if registry else "",
        "reader": reader,
        "snippets": snippets(fact, reader) if reader else (),
        "details": fact_details(fact),
        "transaction": transaction,
        "mentions": [answer_context(other, links) for other in mentions if other.name != fact.name],
    }


def _fact_response(
    request: HttpRequest, part: str, context: dict[str, Any], links: PageLinks
) -> HttpResponse:
    """The page, or for htmx a part of it."""
    if request.headers.get("HX-Request"):
        return render(request, f"parts/{part}.html", context)
    match, fact = context["match"], context["fact"]
    route, currency = links.registry(fact.source, fact.destination), links.currency(fact.source)
    if proof := read_fact_proof(match.query_id, fact, route):
        context["proves_absence"] = proof.proves_absence
        context["picture"] = fact_picture(proof, fact, context["value"].short, route, currency)
    return render(request, "fact.html", context)
