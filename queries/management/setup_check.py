"""`check_setup`'s checks of nodes, registries and the signer."""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial

from accounts.wording import format_count, format_duration, format_timestamp
from queries.amounts import gwei, short_amount
from queries.chain import (
    READ_HEADER_RECENT,
    UNMEASURED_ERRORS,
    CallRevertedError,
    ChainClient,
    ChainError,
    ChainHead,
    FeesTooHighError,
    GatewayError,
    InvalidAnswersError,
    MethodMissingError,
    NodesRefuseError,
    NodesUnreachableError,
    ProofWindowExceededError,
    RateLimitedError,
    Signer,
    StateNotAvailableError,
    StateOfAnotherBlockError,
    WrongChainIdError,
    fetch_receipts,
    fetch_transactions,
    first_block_distance,
    follow_lookup,
    measure_gas_rules,
    measure_proof_window,
    next_fork_time,
)
from queries.config.chains import Chain, NodeAddress
from queries.config.limits import Limits
from queries.config.measured_costs import account_cost
from queries.contracts.abi import call_data
from queries.contracts.create2 import courier_address, verifier_address
from queries.management.update_cost import describe_keeping
from queries.proving import HISTORY_RING, GasRules, HeaderField, beacon_differences
from queries.sources import (
    REPLACE_ADVICE,
    BeaconRegistry,
    Registry,
    RegistryReader,
    Routes,
    SetupError,
    constructor_arguments,
    deployed_registry,
    derived_address,
    format_time,
    has_built_code,
    has_derived_address,
    lookup_address,
    route_lines,
)

# Distances from the head at which receipts are probed; the first block is probed last.
RECEIPT_PROBES = (0, 1_000, HISTORY_RING, *(10**power for power in range(5, 10)))

DEPLOY_ADVICE = "Deploy one with tacitus deploy_registry."

UNVERIFIABLE = (
    "It is unverifiable: its code is genuine, but its address does not prove that its constructor "
    f"stored no facts. {REPLACE_ADVICE}"
)

ANOTHER_NODE = "Name another node in ROUTES_FILE."
MORE_STATE = "Use a node that keeps more state."

ADVICE: dict[type[Exception], str] = {
    NodesUnreachableError: "Check that it runs, and that `nodes` in ROUTES_FILE has its address.",
    WrongChainIdError: "Correct `nodes` in ROUTES_FILE, or the chain's id.",
    RateLimitedError: "Wait, or name a node in ROUTES_FILE that accepts more requests.",
    NodesRefuseError: ANOTHER_NODE,
    InvalidAnswersError: ANOTHER_NODE,
    MethodMissingError: ANOTHER_NODE,
    StateNotAvailableError: MORE_STATE,
    ProofWindowExceededError: MORE_STATE,
    StateOfAnotherBlockError: f"{MORE_STATE} If all nodes report this, a fork has changed the "
    "meaning of the state root in a header: then registries must not be used for this chain.",
    FeesTooHighError: "Wait, or raise `max_gas_price_gwei`.",
}


def add_advice(error: Exception) -> str:
    """Add what the operator can do to the error's sentence."""
    return f"{error} {ADVICE.get(type(error), '')}".rstrip()


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line of the table."""

    subject: str
    ok: bool
    sentence: str
    is_hint: bool = False  # advice; not counted as a check


def check_routes(routes: Routes, signer: Signer | None) -> Iterator[CheckResult]:
    """Run all checks, and yield each result as soon as it is known."""
    registries = routes.registries.values()
    cross_chain_sources = {
        source for source, destination in routes.registries if source != destination
    }
    chains: dict[int, Chain] = {}  # with only the nodes that respond
    for chain in routes.chains.values():
        # Each node's own `finalized` is checked, even if the light client decides.
        checked_chain = replace(chain, beacon=())
        if chain.id not in cross_chain_sources:
            checked_chain = replace(checked_chain, finality=chain.finality_for(chain.id))
        its_registries = [registry for registry in registries if registry.source == chain.id]
        yield from _beacon_chain_hint(chain)
        windows: list[ProofWindow] = []
        nodes = yield from _check_nodes(checked_chain, windows if its_registries else None)
        chains[chain.id] = replace(chain, nodes=nodes)
        if windows:
            yield from _provable_blocks(chain, its_registries, max(windows))
    for registry in registries:
        yield from _check_route(registry, chains[registry.source], chains[registry.destination])
    for chain in chains.values():
        works = [reg.block_work for reg in registries if reg.destination == chain.id]
        if works and chain.nodes:
            rules = yield from _check_gas(chain)
            if rules and signer is not None:
                gas = max(round(account_cost(work, 1, rules).gas) for work in works)
                check = partial(_check_funds, chain, signer, gas)
                yield _run_check(f"signer on {chain.name}", check)
            yield from _courier_hint(chain)


def _check_route(registry: Registry, source: Chain, destination: Chain) -> Iterator[CheckResult]:
    """Check the registry, unless none of the nodes of a chain responds."""
    subject = f"registry of {source.name} on {destination.name}"
    if differences := registry.differences:
        sentence = f"Clients do not call it genuine: {'; '.join(differences)}."
        yield CheckResult(subject, ok=True, sentence=sentence, is_hint=True)
    if source.nodes and destination.nodes:
        check = partial(_check_registry, registry, source, destination)
        yield (result := _run_check(subject, check))
        if result.ok:
            yield from _verifier_hint(subject, registry, destination)
            yield from _lookup_checks(registry, source, destination)
        if isinstance(registry, BeaconRegistry):
            yield from _update_cost_check(registry, source, destination)


def _beacon_chain_hint(chain: Chain) -> Iterator[CheckResult]:
    """Give a hint if the routes file describes a known beacon chain differently."""
    if chain.custom_beacon_chain is None:
        return
    if differences := beacon_differences(chain.id, chain.custom_beacon_chain):
        subject, reasons = f"{chain.name}, beacon chain", "; ".join(differences)
        sentence = (
            f"`beacon_chain` is not as this release knows it: {reasons}. Compare it with the "
            "configuration that the network publishes."
        )
        yield CheckResult(subject, ok=True, sentence=sentence, is_hint=True)


def _check_nodes(
    chain: Chain, windows: list["ProofWindow"] | None
) -> Generator[CheckResult, None, tuple[NodeAddress, ...]]:
    """Check each node alone, and add proof windows to `windows`. Returns the nodes that respond."""
    heads: dict[NodeAddress, ChainHead] = {}
    for node in chain.nodes:
        try:
            with closing(ChainClient(replace(chain, nodes=(node,)))) as client:
                heads[node] = client.head()
        except ChainError as error:
            if isinstance(error, NodesUnreachableError):
                error = NodesUnreachableError(f"It does not answer{error.detail}.")
            if isinstance(error, WrongChainIdError):
                error = WrongChainIdError("It serves another chain.")
            subject = f"{chain.name}, node {node.number}"
            yield CheckResult(subject, ok=False, sentence=add_advice(error))
    newest_timestamp = max((head.timestamp for head in heads.values()), default=0)
    for node, head in heads.items():
        subject = f"{chain.name}, node {node.number}"
        yield _run_check(subject, partial(_check_age, head, newest_timestamp, chain.limits))
        if windows is not None:
            check = partial(_check_proof_window, replace(chain, nodes=(node,)), head, windows)
            yield _run_check(f"{subject}, proofs", check)
            yield _check_receipts(f"{subject}, receipts", replace(chain, nodes=(node,)), head)
            yield from _check_transactions(
                f"{subject}, transactions", replace(chain, nodes=(node,)), head
            )
    if len(heads) > 1:
        yield _run_check(f"{chain.name}, all nodes", partial(_check_same_block, chain, heads))
    return tuple(heads)


def _run_check(subject: str, check: Callable[[], str]) -> CheckResult:
    try:
        return CheckResult(subject, ok=True, sentence=check())
    except (ChainError, SetupError) as error:
        return CheckResult(subject, ok=False, sentence=add_advice(error))


# Nodes


def _check_age(head: ChainHead, newest_timestamp: int, limits: Limits) -> str:
    """Check that the newest block is not too old, nor too far behind the newest of all nodes."""
    age = max(int(time.time()) - head.timestamp, 0)
    block = f"block {head.number:,}, {format_count(age, 'second')} old"
    if age > limits.head_max_age:
        raise SetupError(f"Its newest block is {block}. Check that it keeps up with the chain.")
    lag = newest_timestamp - head.timestamp
    if lag > limits.max_lag:
        raise SetupError(
            f"Its newest block is {block}, {format_count(lag, 'second')} behind another node's. "
            "Remove it from ROUTES_FILE until it has caught up, because two nodes must agree that "
            "a fact is on chain."
        )
    return block


def _check_same_block(chain: Chain, heads: Mapping[NodeAddress, ChainHead]) -> str:
    """Check that all nodes have the same block at the newest height that is final for all."""
    block = min(head.final_number for head in heads.values())
    nodes_by_hash: dict[bytes, int] = {}
    for node in heads:
        with closing(ChainClient(replace(chain, nodes=(node,)))) as client:
            nodes_by_hash.setdefault(client.header(block).hash, node.number)
    if len(nodes_by_hash) > 1:
        first, second, *_ = nodes_by_hash.values()
        raise SetupError(
            f"Nodes {first} and {second} have different blocks {block:,}: one of them follows "
            "another chain. Compare with a public explorer, and correct `nodes` in ROUTES_FILE."
        )
    return f"the same block {block:,}"


@dataclass(frozen=True, slots=True, order=True)
class ProofWindow:
    """How far before the head a node proves accounts."""

    blocks: int
    seconds: int
    has_first_block: bool

    def __str__(self) -> str:
        return f"{format_count(self.blocks, 'block')}, {format_duration(self.seconds)}"


def _check_proof_window(chain: Chain, head: ChainHead, windows: list[ProofWindow]) -> str:
    """Measure the node's proof window, and add it to `windows`."""
    if chain.finality is None and head.number and not head.final_number:
        raise SetupError(
            "The node reports no finalized block: wait, or set `finality` to a number of blocks."
        )
    depth = min(head.number - head.final_number, first_block_distance(head))
    with closing(ChainClient(chain)) as source:
        try:
            distance = measure_proof_window(source, head, first=depth, must_answer=False)
        except ChainError as error:
            raise SetupError(
                f"The newest final block is {depth:,} blocks behind the head, and the node does "
                f"not prove that far back. {add_advice(error)}"
            ) from None
        seconds = head.timestamp - source.header(head.number - distance).timestamp
    window = ProofWindow(distance, seconds, has_first_block=distance == first_block_distance(head))
    windows.append(window)
    if window.has_first_block:
        return "eth_getProof reaches back to the first block"
    return f"eth_getProof reaches back {window}"


def _check_receipts(subject: str, chain: Chain, head: ChainHead) -> CheckResult:
    """Check that the newest block's receipts match its header, and how far back others do."""
    first_block, reach = first_block_distance(head), 0
    probes = (*(n for n in RECEIPT_PROBES if n < first_block), first_block)
    with closing(ChainClient(chain)) as source:
        for distance in probes:
            try:
                fetch_receipts(source, source.header(head.number - distance))
            except ChainError as error:
                sentence = f"receipts reach back {reach:,} blocks or more, but not {distance:,}"
                if not distance:
                    sentence = f"Events cannot be proven from this node. {error}"
                return CheckResult(subject, ok=True, sentence=sentence, is_hint=not distance)
            reach = distance
    return CheckResult(subject, ok=True, sentence="receipts reach back to the first block")


def _check_transactions(subject: str, chain: Chain, head: ChainHead) -> Iterator[CheckResult]:
    """Report if the newest block's transactions cannot be read, as with types that are not known
    if the node gives no raw bytes.
    """
    with closing(ChainClient(chain)) as source:
        try:
            fetch_transactions(source, source.header(head.number))
        except ChainError as error:
            sentence = f"Transactions cannot be proven from this node. {error}"
            yield CheckResult(subject, ok=True, sentence=sentence, is_hint=True)


def _provable_blocks(
    chain: Chain, registries: Sequence[Registry], window: ProofWindow
) -> Iterator[CheckResult]:
    """Check separately how far back proofs reach for the chain's L1, which knows blocks late."""
    by_delay = {registry.claim_delay: registry for registry in registries}
    for delay, registry in sorted(by_delay.items()):
        check = partial(_describe_window, window, delay, registry.history_ring)
        yield _run_check(f"{chain.name}, provable{' on its L1' if delay else ''}", check)


def _describe_window(window: ProofWindow, delay: int, ring: int) -> str:
    """Describe the provable blocks. `delay`: seconds from a block until its hash is provable;
    `ring`: how many hashes the chain's history contract keeps.
    """
    is_pruned, duration = not window.has_first_block, format_duration(window.seconds)
    if is_pruned and window.seconds < delay:
        raise SetupError(
            f"The rollup's contracts accept a block {format_duration(delay)} after it was made, "
            f"but the nodes prove only blocks of the last {duration}. {MORE_STATE}"
        )
    if is_pruned and window.blocks < ring:
        return (
            f"only final blocks of the last {duration}. Contracts know the hashes of "
            f"{ring:,} blocks: a node that keeps more state would prove more of them."
        )
    blocks = f"blocks of the last {duration}" if is_pruned else "every block"
    hops = f"; blocks more than {ring:,} back need hops"
    return f"{blocks}{hops if window.blocks >= ring else ''}"


# Registries


def _check_registry(registry: Registry, source_chain: Chain, destination_chain: Chain) -> str:
    with (
        closing(ChainClient(source_chain)) as source,
        closing(ChainClient(destination_chain)) as destination,
    ):
        code = destination.code(registry.address)
        if not code:
            raise SetupError(f"There is no contract at {registry.address}. {DEPLOY_ADVICE}")
        if has_derived_address(registry):
            hash_source = registry.check_setup(source, destination)
            horizon = _check_horizon(registry, destination)
            return f"its address proves its code; {hash_source}; {horizon}"
        kind = type(registry)
        if not has_built_code(kind, code):
            raise SetupError(
                f"{registry.address} is not this version's {registry.kind} registry. "
                f"{REPLACE_ADVICE}"
            )
        actual_registry = deployed_registry(kind, registry.source, destination, registry.address)
        if constructor_arguments(actual_registry) != constructor_arguments(registry):
            _, source_line, _, _, *others = route_lines(actual_registry, with_defaults=True)
            raise SetupError(
                f"It was made with other arguments ({', '.join([source_line, *others])}). Leave "
                f"`address` out, or deploy {derived_address(registry)}."
            )
        raise SetupError(UNVERIFIABLE)


def _verifier_hint(subject: str, registry: Registry, chain: Chain) -> Iterator[CheckResult]:
    """Give a hint if no events verifier is deployed beside the registry."""
    with suppress(ChainError), closing(ChainClient(chain)) as destination:
        if not destination.code(verifier_address(registry.address)):
            sentence = f"Its events verifier is missing: events are refused. {DEPLOY_ADVICE}"
            yield CheckResult(subject, ok=True, sentence=sentence, is_hint=True)


def _update_cost_check(
    registry: BeaconRegistry, source: Chain, chain: Chain
) -> Iterator[CheckResult]:
    """Say what keeping the registry awake costs, deployed or not."""
    subject = f"updates of {source.name} on {chain.name}"
    try:
        with closing(ChainClient(chain)) as destination:
            sentence, is_measured = describe_keeping(registry, destination)
    except ChainError as error:
        yield CheckResult(subject, ok=False, sentence=add_advice(error))
    else:
        yield CheckResult(subject, ok=True, sentence=sentence, is_hint=not is_measured)


def _courier_hint(chain: Chain) -> Iterator[CheckResult]:
    """Give a hint if no courier is deployed on a destination."""
    with suppress(ChainError), closing(ChainClient(chain)) as destination:
        if not destination.code(courier_address()):
            sentence = f"It is missing: users' contracts are not called. {DEPLOY_ADVICE}"
            yield CheckResult(f"courier on {chain.name}", ok=True, sentence=sentence, is_hint=True)


def _lookup_checks(
    registry: Registry, source_chain: Chain, destination_chain: Chain
) -> Iterator[CheckResult]:
    """Read a header through each gateway. A failure is a hint: the gateway may not run yet."""
    if not registry.lookup_urls:
        return
    subject = f"lookup of {source_chain.name} on {destination_chain.name}"
    lookup = lookup_address(registry)
    with suppress(ChainError), closing(ChainClient(destination_chain)) as destination:
        if not destination.code(lookup):
            sentence = f"It is missing: no fact can be read without a transaction. {DEPLOY_ADVICE}"
            yield CheckResult(subject, ok=True, sentence=sentence, is_hint=True)
            return
        for number, url in enumerate(registry.lookup_urls, 1):
            try:
                block = _read_by_gateway(lookup, destination, url)
            except GatewayError as error:
                sentence = f"Gateway {number} of {lookup} does not work. {error}"
                yield CheckResult(subject, ok=True, sentence=sentence, is_hint=True)
            else:
                sentence = f"gateway {number} of {lookup} works; read at block {block:,}"
                yield CheckResult(subject, ok=True, sentence=sentence)


def _read_by_gateway(lookup: str, destination: ChainClient, url: str) -> int:
    """Read the number of the newest block that the gateway proves."""
    data = call_data(READ_HEADER_RECENT, HeaderField.BLOCK_NUMBER, 2**256 - 1, [url])
    (answer,) = destination.call_contract(lookup, [data])
    if isinstance(answer, CallRevertedError):
        callback = follow_lookup(answer.data, destination.chain.limits)
        (answer,) = destination.call_contract(lookup, [callback])
    if isinstance(answer, CallRevertedError):
        raise GatewayError("The contract does not accept its proof.")
    return int.from_bytes(answer[:32])


def _check_horizon(registry: Registry, destination: ChainClient) -> str:
    """Return until when the registry takes headers. Raises `SetupError` if that time is past, or if
    the state horizon was lowered.
    """
    state_horizon = format_time(RegistryReader(destination, registry).state_horizon())
    if state_horizon != (horizon := format_time(registry.horizon)):
        raise SetupError(
            f"Accounts cannot be proven from {state_horizon} on: a header of that time does not "
            "commit to the state of its block. Header fields and events can still be proven, until "
            f"{horizon}: check what that fork does to the receipts in a header."
        )
    if registry.horizon <= time.time():
        raise SetupError(f"It has taken no headers since {horizon}. {REPLACE_ADVICE}")
    return f"takes headers until {horizon}; only that ends its events verifier"


# Gas and the signer


def _check_gas(chain: Chain) -> Generator[CheckResult, None, GasRules | None]:
    """Check that the nodes show what gas pays for, and compare with ROUTES_FILE. Returns what
    provers count on; None if no node answers.
    """
    subject = f"gas on {chain.name}"
    with closing(ChainClient(chain)) as destination:
        try:
            used = destination.gas_rules
            measured = measure_gas_rules(destination)
        except UNMEASURED_ERRORS as error:
            sentence = (
                "The nodes do not show what gas pays for, so provers count on this: "
                f"{used.sentence}. If it is not true, set `new_slot_gas` and `floor_byte_gas`. "
                f"{error}"
            )
            yield CheckResult(subject, ok=True, sentence=sentence, is_hint=True)
            return used
        except ChainError as error:
            yield CheckResult(subject, ok=False, sentence=add_advice(error))
            return None
        yield CheckResult(subject, ok=True, sentence=measured.sentence)
        if used.sentence != measured.sentence:
            sentence = (
                f"ROUTES_FILE says that {used.sentence}. Remove `new_slot_gas` and "
                "`floor_byte_gas`, unless its nodes are wrong: forks change what they cost."
            )
            yield CheckResult(subject, ok=True, sentence=sentence, is_hint=True)
        if next_fork := next_fork_time(destination):
            sentence = f"the next fork is at {format_timestamp(next_fork)}; gas is measured again"
            yield CheckResult(subject, ok=True, sentence=sentence)
    return used


def _check_funds(chain: Chain, signer: Signer, gas: int) -> str:
    """Check that the signer can pay for `gas`, at the maximum price that provers pay now."""
    with closing(ChainClient(chain)) as destination:
        balance = destination.balance(signer.address)
        price = max(destination.fees().max_fee, 1)
        transactions = destination.pending_count(signer.address)
        destination.estimate_gas(signer.address, signer.address, b"")  # the node must support it
    funds = f"{signer.address} has {short_amount(balance, chain.currency)}"
    if balance < gas * price:
        cost = f"{gas:,} gas of a fact at {gwei(price)}"
        raise SetupError(f"{funds}, too little for the {cost}. Send it more.")
    remark = f"; {format_count(transactions, 'transaction')} pending" if transactions else ""
    return f"{funds}, which pays for {balance // price:,} gas at {gwei(price)}{remark}"
