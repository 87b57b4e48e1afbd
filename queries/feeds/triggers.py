"""The table of triggers: what makes a feed due, by its request and by `Feed.trigger`."""

from collections.abc import Mapping
from typing import Any

from queries.feeds.logs import Logs
from queries.feeds.schedule import Blocks, Seconds
from queries.feeds.trigger import Trigger
from queries.feeds.watched_values import WatchedValue
from queries.models import Feed
from queries.schema.feed_bodies import TriggerBody

TRIGGERS: Mapping[str, type[Trigger]] = {
    kind.code: kind for kind in (Blocks, Seconds, WatchedValue, Logs)
}


def stored_trigger(feed: Feed) -> Trigger:
    return TRIGGERS[feed.trigger].stored(feed.request)


def requested_trigger(content: Mapping[str, Any]) -> Trigger:
    """The trigger of a request that is valid."""
    members = {name: content[name] for name in TriggerBody.model_fields if name in content}
    body = TriggerBody.model_validate(members)
    kind = next(kind for kind in TRIGGERS.values() if kind.matches(body))
    return kind(getattr(body, kind.member), content[kind.member])
