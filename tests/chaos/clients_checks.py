"""What clients were told: by webhooks, and where they submitted again under a key.

As all checks it uses nothing of what it checks.
"""

import hashlib
import hmac
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.chaos.asked import Asked
from tests.chaos.evidence import Scene, seconds_of
from tests.chaos.violations import Violation
from tests.chaos.webhook_receiver import Told

ENDED = {"DONE", "REJECTED"}
SIGNED = re.compile(r"t=([0-9]+),v1=([0-9a-f]{64})")
EARLY = 0.1  # seconds: one clock is read twice

Rows = Mapping[str, Mapping[str, Any]]


def of_webhooks(
    scene: Scene, asked: Sequence[Asked], batches: Rows, told: Sequence[Told]
) -> Iterator[Violation]:
    """Every batch that ended and asked for it was told of, truly; and nothing else was."""
    owed = {it.id for it in asked if it.has_webhook and it.id}
    owners = {it.id: it.owner for it in asked}
    taken: dict[str, set[str]] = defaultdict(set)  # batch → events
    bodies: dict[str, bytes] = {}  # by event
    for each in told:
        owner = owners.get(json.loads(each.body).get("batchQueryId"), 0)
        if not is_signed(scene.owners[owner].webhook_secret, each):
            yield Violation("false webhook", f"{each.event} is not signed as its body is")
            continue
        if bodies.setdefault(each.event, each.body) != each.body:
            yield Violation("false webhook", f"{each.event} was told in two ways")
        yield from _of_content(owed, batches, each, scene.clocks_apart + EARLY)
        if each.taken:
            taken[json.loads(each.body)["batchQueryId"]].add(each.event)
    for batch in sorted(owed & set(batches)):
        if batches[batch]["status"] in ENDED and not taken[batch]:
            yield Violation("missing webhook", f"{batch} has ended, and nobody was told")
        elif len(taken[batch]) > 1:
            yield Violation("doubled webhook", f"{batch} was told as {sorted(taken[batch])}")


def is_signed(secret: str, it: Told) -> bool:
    match = SIGNED.fullmatch(it.signature)
    if not match:
        return False
    signed = f"{match[1]}.".encode() + it.body
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest() == match[2]


def _of_content(owed: set[str], batches: Rows, it: Told, early: float) -> Iterator[Violation]:
    content = json.loads(it.body)
    batch = content["batchQueryId"]
    if batch not in owed:
        yield Violation("false webhook", f"{it.event} is of {batch}, which asked for none")
        return
    row = batches.get(batch, {"status": "lost", "ended": None})
    if content["event"] != it.event or content["queryStatus"] != row["status"]:
        what = f"{it.event} says {content['queryStatus']} of {batch}, which is {row['status']}"
        yield Violation("false webhook", what)
    if row["ended"] is None or it.at < seconds_of(row["ended"]) - early:
        yield Violation("false webhook", f"{it.event} came before {batch} had ended")


def of_keys(asked: Sequence[Asked], batches: Rows) -> Iterator[Violation]:
    """One batch for an Idempotency-Key, which whoever submits again is told of."""
    by_key: dict[str, list[str]] = defaultdict(list)
    for key, row in batches.items():
        by_key[str(row["idempotency_key"])].append(key)
    for it in asked:
        its = by_key[it.key]
        if len(its) > 1:
            yield Violation("doubled batch", f"{it.key} is the key of {sorted(its)}")
        for other in sorted({*it.again, *its} - {it.id}):
            yield Violation("doubled batch", f"{it.key} was answered {it.id} and {other}")
