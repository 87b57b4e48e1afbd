"""`check_setup`'s checks of beacon nodes and checkpoints."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

from accounts.wording import format_duration
from queries.chain import (
    BeaconAnswersInvalidError,
    BeaconError,
    BeaconNodes,
    BeaconNodesRefuseError,
    BeaconNodesUnreachableError,
    BeaconObjectUnknownError,
    ChainClient,
    ChainError,
    CheckpointTooOldError,
    LightClientState,
    NodeError,
    advance_light_client,
    begin_light_client,
    compare_configuration,
)
from queries.config.chains import Chain, NodeAddress
from queries.management.setup_check import CheckResult
from queries.proving import SYNC_COMMITTEE_SIZE
from queries.proving.beacon import MAX_COMMITTEE_AGE
from queries.sources import CHECKPOINT_ADVICE

NEW_CHECKPOINT = f"Set `beacon_checkpoint` to one of the last seven days. {CHECKPOINT_ADVICE}"
ADVICE: dict[type[ChainError], str] = {
    BeaconNodesUnreachableError: "Check that it runs, and that `beacon` in ROUTES_FILE has its "
    "address.",
    BeaconNodesRefuseError: "Name another one in ROUTES_FILE, or enable its light client server.",
    BeaconObjectUnknownError: "Check that the checkpoint is of this chain and of the last seven "
    "days, and that the node serves light clients. A node that has just started has a finality "
    f"update after some minutes. {CHECKPOINT_ADVICE}",
    BeaconAnswersInvalidError: "Check that the checkpoint, and `beacon` and `beacon_chain` in "
    "ROUTES_FILE, are of the same chain, or name another node.",
    CheckpointTooOldError: CHECKPOINT_ADVICE,
}


def check_light_client(chain: Chain, stored: LightClientState | None) -> Iterator[CheckResult]:
    """Follow the chain's light client by each beacon node alone, and report the checkpoint.

    `stored`: where the provers are, if they began with this checkpoint. Nothing is stored.
    """
    has_begun = stored is not None
    for node in chain.beacon:
        subject = f"{chain.name}, beacon node {node.number}"
        nodes = BeaconNodes(replace(chain, beacon=(node,)))
        with closing(nodes), closing(ChainClient(chain)) as source:
            try:
                state = advance_light_client(stored or begin_light_client(nodes), nodes, source)
            except ChainError as error:
                yield CheckResult(subject, ok=False, sentence=add_beacon_advice(error))
                if not isinstance(error, BeaconNodesUnreachableError):
                    yield from check_configuration(chain, node)
                continue
            has_begun, sentence = True, _describe(state, nodes)
            if is_old := nodes.slot_age(state.finalized_slot) > chain.limits.head_max_age:
                sentence += ". Check that it keeps up with the chain."
            yield CheckResult(subject, ok=not is_old, sentence=sentence)
            yield from check_configuration(chain, node)
    yield _check_checkpoint(chain, has_begun=has_begun)


def check_configuration(chain: Chain, node: NodeAddress) -> Iterator[CheckResult]:
    """Compare slots and forks with the node's: what is wrong of those to come shows only when they
    begin.
    """
    subject = f"{chain.name}, forks of beacon node {node.number}"
    try:
        comparison = compare_configuration(chain, node)
    except NodeError as error:
        sentence = f"It does not show its configuration, so forks are not compared{error.detail}."
        yield CheckResult(subject, ok=True, sentence=sentence, is_hint=True)
        return
    if comparison.differences:
        sentence = (
            f"Its configuration is not as known here: {'; '.join(comparison.differences)}. Check "
            "that the node is of this chain and up to date, and compare `beacon_chain`, if "
            "ROUTES_FILE has it, with the configuration that the network publishes."
        )
        yield CheckResult(subject, ok=False, sentence=sentence)
    for sentence in comparison.hints:
        yield CheckResult(subject, ok=True, sentence=sentence, is_hint=True)
    if not comparison.differences and not comparison.hints:
        yield CheckResult(subject, ok=True, sentence="as known here; no other one is announced")


def _describe(state: LightClientState, nodes: BeaconNodes) -> str:
    age = format_duration(nodes.slot_age(state.finalized_slot))
    sentence = f"period {state.period:,}, finalized slot {state.finalized_slot:,}, {age} old"
    if state.block_number is None:
        return f"{sentence}; no update since the checkpoint yet"
    return (
        f"{sentence}, with block {state.block_number:,}; {state.signers} of {SYNC_COMMITTEE_SIZE} "
        "validators signed the last update"
    )


def _check_checkpoint(chain: Chain, *, has_begun: bool) -> CheckResult:
    """Report the age. An old checkpoint matters only if no light client has begun with it."""
    subject = f"{chain.name}, checkpoint"
    with closing(BeaconNodes(chain)) as nodes:
        try:
            header = nodes.bootstrap(chain.beacon_checkpoint).header
        except BeaconError as error:
            if not has_begun:
                return CheckResult(subject, ok=False, sentence=add_beacon_advice(error))
            sentence = f"{error} A new database needs one that they have. {NEW_CHECKPOINT}"
            return CheckResult(subject, ok=True, sentence=sentence, is_hint=True)
        seconds = nodes.slot_age(header.slot)
    age = f"{format_duration(seconds)} old"
    if seconds <= MAX_COMMITTEE_AGE:
        return CheckResult(subject, ok=True, sentence=f"slot {header.slot:,}, {age}")
    sentence = f"It is {age}: a new database cannot begin with it. {NEW_CHECKPOINT}"
    return CheckResult(subject, ok=has_begun, sentence=sentence, is_hint=has_begun)


def add_beacon_advice(error: ChainError) -> str:
    return f"{error} {ADVICE.get(type(error), '')}".rstrip()
