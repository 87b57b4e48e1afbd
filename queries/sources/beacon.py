"""A chain with a beacon chain on any other, by the signatures of its sync committees."""

import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from math import isfinite
from typing import Any, Self

from accounts.wording import format_duration, format_timestamp
from queries.chain import (
    BeaconNodes,
    BlockUnknownError,
    ChainClient,
    CheckpointTooOldError,
    advance_light_client,
    announced_fork,
    begin_light_client,
)
from queries.config.chains import Chain
from queries.config.networks import Network, final_after
from queries.proving import (
    BEACON_CHAINS,
    COMPARE_YOURSELF,
    HASH_BYTES,
    MIN_COMMITTEE_SIGNERS,
    SYNC_COMMITTEE_SIZE,
    beacon_differences,
)
from queries.proving.beacon import MAX_COMMITTEE_AGE, UPDATE_SELECTOR, Update
from queries.sources.beacon_updates import (
    MAX_CALLS,
    MAX_REMEMBERED,
    BeaconMembers,
    RegistryStoppedError,
    UnknownFork,
    UpdateCalls,
    joined_calls,
    next_unknown_fork,
)
from queries.sources.hashes import (
    REGISTRY_STOPPED,
    HashNotKnown,
    Preparation,
    VouchedBlock,
    VouchedHashes,
)
from queries.sources.registry import (
    HORIZON_ARGUMENT,
    SOURCE_ARGUMENT,
    Argument,
    Refuse,
    RegistryKind,
    SetupError,
)
from queries.wait_reasons import Reason, WaitCode

MAX_FORKS = 4  # that a registry knows
CHECKPOINT_ADVICE = (
    "Ask a node that you trust for the root of a finalized block "
    "(/eth/v1/beacon/headers/finalized), and compare it with a block explorer."
)
# Of EIP-2537: by address, how many bytes they take and answer
PRECOMPILES = {0x0B: (256, 128), 0x0D: (512, 256), 0x0F: (384, 32), 0x11: (128, 256)}
MIN_PERIODS = 4  # of `max_age`: an update may be a period old when the next one is due
# The most signed update about each finalized block, by the block's root.
_best_updates: dict[bytes, Update] = {}


class UpdatePreparation(Preparation):
    def is_served_by(self, calldata: bytes, hops: int) -> bool:
        """Whoever signed: an update about the same finalized block records the same hash."""
        if self.calldata.startswith(UPDATE_SELECTOR):
            return calldata.startswith(self.calldata[: len(UPDATE_SELECTOR) + HASH_BYTES])
        return super().is_served_by(calldata, hops)


class BeaconRegistry(BeaconMembers):
    kind = RegistryKind.BEACON
    arguments = (
        HORIZON_ARGUMENT,
        SOURCE_ARGUMENT,
        Argument("genesis_time", "uint256", "genesisTime()"),
        Argument("seconds_per_slot", "uint256", "secondsPerSlot()"),
        Argument("genesis_validators_root", "bytes32", "genesisValidatorsRoot()"),
        Argument("checkpoint", "bytes32", "checkpoint()"),
        Argument("max_age", "uint256", "maxAge()"),
        Argument("fork_table", "(uint64,bytes4,uint32,uint32,uint32,uint32)[]", "forks()"),
    )
    details = "registries/beacon.html"
    block_work = ("update", "hop")
    computed = ("genesis_time", "seconds_per_slot", "genesis_validators_root", "fork_table")
    trusted = "two thirds of a sync committee, and the checkpoint"
    trust = f"{MIN_COMMITTEE_SIGNERS} of {SYNC_COMMITTEE_SIZE} validators"
    reach_remark = "once its sync committee has signed"

    @classmethod
    def connects(cls, source: Network, destination: Network) -> bool:
        # All known networks have the precompiles of EIP-2537.
        return source != destination and source.chain in BEACON_CHAINS

    @classmethod
    def for_networks(cls, source: Network, destination: Network, **options: Any) -> Self:
        registry = cls(source.chain, destination.chain, checkpoint=options["checkpoint"])
        return registry.with_beacon_chain(BEACON_CHAINS[source.chain])

    def checked(self, chains: Mapping[int, Chain], refuse: Refuse) -> Self:
        source = chains[self.source]
        if source.beacon_chain is None:
            table = f"[chains.{source.id}.beacon_chain]"
            refuse(
                "source",
                f"this version does not know the beacon chain of {source.name}; add {table}",
            )
        if not source.beacon:
            sentence = f"set `beacon` of {source.name}: the nodes that have its sync committees"
            refuse("source", sentence)
        known = [fork.version for fork in source.beacon_chain.forks]
        if unknown := [version for version in self.fork_versions if version not in known]:
            refuse("forks", f"the beacon chain of {source.name} has no fork 0x{unknown[0].hex()}")
        registry = self.with_beacon_chain(source.beacon_chain)
        least = MIN_PERIODS * registry.period_seconds
        if registry.max_age < least:
            periods = f"{MIN_PERIODS} periods of a committee"
            refuse("max_age", f"it must be at least {least}, which are {periods}")
        if len(registry.fork_table) > MAX_FORKS:
            refuse("forks", f"a registry knows at most {MAX_FORKS} forks: name the newest ones")
        return registry

    def own_lines(self, *, with_defaults: bool) -> Iterator[str]:
        versions = ", ".join(f'"0x{version.hex()}"' for _, version, *_ in self.fork_table)
        yield f'checkpoint = "0x{self.checkpoint.hex()}"'
        yield f"forks = [{versions}]"
        if with_defaults or self.max_age != MAX_COMMITTEE_AGE:
            yield f"max_age = {self.max_age}"

    @classmethod
    def check_chain(cls, destination: ChainClient) -> None:
        """Call the precompiles of EIP-2537 that it needs; all accept zeros."""
        for number, (length, answer_length) in PRECOMPILES.items():
            (answer,) = destination.call_contract(f"0x{number:040x}", [bytes(length)])
            if not isinstance(answer, bytes) or len(answer) != answer_length:
                raise SetupError(
                    f"{destination.chain.name} lacks the precompile 0x{number:02x} of EIP-2537 for "
                    "BLS12-381, so it cannot check sync committees. Use an attested registry."
                )

    def check_deployable(self, source: Chain, destination: ChainClient) -> None:
        self.check_chain(destination)
        if not destination.code(self.address):
            self._check_checkpoint(source)

    def _check_checkpoint(self, source: Chain) -> None:
        """Check that the registry can begin with its checkpoint and take the newest update, by a
        light client that does the same.
        """
        fork = source.beacon_chain and next_unknown_fork(self, source.beacon_chain)
        if fork and fork.time <= time.time():
            raise SetupError(fork.sentence)
        source = replace(
            source, beacon_checkpoint=self.checkpoint, custom_beacon_chain=self.beacon_chain
        )
        max_age = min(self.max_age, MAX_COMMITTEE_AGE)
        with closing(BeaconNodes(source)) as nodes, closing(ChainClient(source)) as client:
            try:
                state = advance_light_client(begin_light_client(nodes, max_age), nodes, client)
            except CheckpointTooOldError:
                raise SetupError(
                    f"The checkpoint is older than {format_duration(max_age)}: the registry would "
                    f"take no update. {CHECKPOINT_ADVICE}"
                ) from None
        if state.block_number is None:
            raise SetupError(
                f"The beacon nodes of {source.name} have no update about the checkpoint or a later "
                "block, so its chain cannot be checked. Try again in some minutes."
            )

    def check_setup(self, source: ChainClient, destination: ChainClient) -> str:
        """Check also that it can go on from the committees and forks that it knows, and that
        provers keep it awake.
        """
        self.check_chain(destination)
        fork = self.next_fork(source.chain)
        calls = UpdateCalls(self, destination, BeaconNodes(source.chain), fork)
        try:
            calls.check_not_stopped(calls.now)
        except RegistryStoppedError as error:
            raise SetupError(str(error)) from None
        known_until, awake_until = map(format_timestamp, (calls.known_until, calls.awake_until))
        stops_soon = calls.awake_until - calls.now < self.min_awake_seconds
        if stops_soon and calls.stops_at_fork:
            raise SetupError(calls.stops_at_fork.sentence)
        if not calls.has_begun:
            checkpoint = f"begins with the checkpoint 0x{self.checkpoint.hex()}"
            return (
                f"{checkpoint}, if a prover is started by {awake_until}; {self._describe_end(fork)}"
            )
        if stops_soon:
            raise SetupError(
                f"It knows the sync committees until {known_until}, and stays awake until "
                f"{awake_until}. A prover should have sent an update by now. Check that one runs, "
                "and that beacon nodes, signer and budget are ok; the registry's page says what "
                "failed."
            )
        return (
            f"knows the sync committees until {known_until}, awake until {awake_until}; "
            f"{self._describe_end(fork)}"
        )

    def next_fork(self, source: Chain) -> UnknownFork | None:
        """The first fork that the registry does not know: one that is known here or that beacon
        nodes of the source announce.
        """
        if source.beacon_chain is None:
            return None
        forks = [next_unknown_fork(self, source.beacon_chain)]
        if fork := announced_fork(source, self.beacon_chain.forks):
            forks = [UnknownFork(fork.time, fork.label, fork.is_scheduled), *forks]
        return min(filter(None, forks), default=None, key=lambda fork: fork.time)

    def _describe_end(self, fork: UnknownFork | None) -> str:
        """Until which fork the registry takes updates."""
        if fork is None:
            version = self.beacon_chain.forks[-1].version
            return f"no beacon node announces a fork after 0x{version.hex()}, the last one it knows"
        if not fork.is_scheduled:
            return f"takes updates until {fork.label}, which has no date yet"
        date = format_timestamp(fork.time)
        return f"does not know {fork.label}, so it takes updates only until {date}"

    def remarks(self) -> Iterator[str]:
        yield "Its checkpoint is a part of its address: compare it with two explorers."

    def trust_sentence(self, source: str, destination: str) -> str:
        return (
            "Two thirds of the 512 validators of a sync committee, which is drawn for 8,192 slots "
            "at a time (27 hours on Ethereum) and is not slashed if it lies; and that the "
            "checkpoint, a part of the address, is a block of the true chain."
        )

    def reach_sentence(self, source: str) -> str:
        after = final_after(self.source)
        end = f": {after} after it was made" if after else ""
        return (
            "The contract knows finalized blocks whose hash was recorded. The newest one can be "
            f"recorded at any time{end}."
        )

    @property
    def assumption(self) -> str:
        comparison = "its genesis, slot length, forks and maximum age are those of the known one"
        if self.differences is None:
            comparison = COMPARE_YOURSELF
        return (
            f"that its checkpoint 0x{self.checkpoint.hex()} is a block of the true beacon chain\n"
            f"    ({comparison})"
        )

    def hash_origin(self, age: int) -> tuple[str, str]:
        return (
            "known to the registry",
            "It follows from a block that the sync committee has signed.",
        )

    def publish_hint(self, reason: Reason, block: int, source_hint: str) -> str:
        return f"{reason.sentence} {source_hint} Name its beacon node with --beacon-node URL."

    @property
    def differences(self) -> tuple[str, ...] | None:
        return beacon_differences(self.source, self.beacon_chain, self.max_age)


class BeaconHashes(VouchedHashes[BeaconRegistry]):
    """The newest finalized block."""

    recording = UpdatePreparation

    def find_vouched_block(self) -> VouchedBlock | None:
        try:
            update = self._newest_update
            header = self.source.header_by_hash(update.finalized.block_hash) if update else None
        except (BlockUnknownError, RegistryStoppedError):
            return None
        if not (self.beacon_nodes and update and header) or header.number < self.header.number:
            return None
        if self.is_known(header):
            return VouchedBlock(header)
        now = self.destination.latest_head().timestamp
        if (
            self._awaits_better
            or self.beacon_nodes.beacon_chain.start_of(update.signature_slot) > now
        ):
            return None
        calls = self._calls.until(update)
        call, transactions = joined_calls(calls), max(len(calls) / MAX_CALLS, 1)
        return VouchedBlock(header, call.data, transactions, call.voucher)

    def not_known(self) -> HashNotKnown:
        try:
            return HashNotKnown(self._wait_reason())
        except RegistryStoppedError as error:
            return HashNotKnown(Reason(REGISTRY_STOPPED, str(error)), is_permanent=True)

    def _wait_reason(self) -> Reason:
        update = self._newest_update
        if self.beacon_nodes is None or update is None:
            return WaitCode.UPDATE_MISSING.reason
        if self._awaits_better:
            sentence = (
                f"{len(update.absent)} validators have not signed the newest update. One with more "
                "signatures costs less, so it is waited for."
            )
            return Reason(WaitCode.UPDATE_PENDING, sentence)
        time_ = self.beacon_nodes.beacon_chain.start_of(update.finalized.beacon.slot)
        sentence = (
            "The newest block that its sync committee has shown to be final is of "
            f"{format_timestamp(time_)}."
        )
        return Reason(WaitCode.UPDATE_PENDING, sentence)

    @cached_property
    def _calls(self) -> UpdateCalls:
        if self.beacon_nodes is None:
            raise ValueError("without beacon nodes there are no updates")
        return UpdateCalls(self.registry, self.destination, self.beacon_nodes)

    @cached_property
    def _newest_update(self) -> Update | None:
        """Of the updates about the newest finalized block that were seen, the one that most members
        have signed. Of several nodes the first one counts whose update the registry would take.
        """
        if self.beacon_nodes is None:
            return None
        update = self.beacon_nodes.finality_update(self._calls.until)
        root = update.finalized.beacon.root
        best = min(_best_updates.get(root, update), update, key=lambda update: len(update.absent))
        if len(_best_updates) > MAX_REMEMBERED:
            _best_updates.clear()
        _best_updates[root] = best
        return best

    @property
    def _awaits_better(self) -> bool:
        """Whether an update with more signatures may still come in time.

        Counted from the first slot whose committee could sign that the block is final: a block
        becomes final when an epoch begins, and its first block is signed in the next slot.
        """
        update = self._newest_update
        if update is None or not update.absent or isfinite(self.destination.deadline):
            return False  # a request cannot wait
        chain = self._calls.nodes.beacon_chain
        first_slot = update.attested.slot // chain.slots_per_epoch * chain.slots_per_epoch + 1
        half_epoch = chain.slots_per_epoch * chain.seconds_per_slot / 2
        wait = min(self.destination.chain.limits.update_wait, half_epoch)
        return time.time() < chain.start_of(first_slot) + wait
