"""How a registry learns the block hashes of its source: a class for each kind of registry, which
`kinds.HASHES` lists.

Other packages use the names of this module; `make lint` refuses the rest.
"""

from queries.sources.attested import VALID_UNTIL, AttestedRegistry
from queries.sources.beacon import CHECKPOINT_ADVICE, BeaconRegistry
from queries.sources.beacon_updates import RegistryStoppedError, UpdateCalls, joined_calls
from queries.sources.deployment import deployed_registry, has_built_code
from queries.sources.hashes import (
    MARGIN,
    NO_PROOF_ERRORS,
    OUT_OF_REACH,
    REGISTRY_STOPPED,
    HashNotKnown,
    KnownBlocks,
    Preparation,
    SourceChain,
    SourceHashes,
    Voucher,
)
from queries.sources.kinds import HASHES, KINDS, has_route, network_registry, route_kind
from queries.sources.native import NativeRegistry
from queries.sources.optimism import OptimismRegistry, read_visible_l1_block
from queries.sources.reader import (
    EMPTY_WORD,
    HASH_HISTORY,
    L1_BLOCK,
    RegistryBlock,
    RegistryReader,
    accumulated_override,
    read_live_fact,
)
from queries.sources.registry import (
    REPLACE_ADVICE,
    NewestBlock,
    Registry,
    RegistryKind,
    SetupError,
    constructor_arguments,
    deployment_calldata,
    derived_address,
    format_time,
    has_derived_address,
    lookup_address,
    lookup_arguments,
    lookup_init_code,
    registry_artifact,
    registry_with_arguments,
    route_lines,
    with_derived_address,
)
from queries.sources.rollups import RollupRegistry
from queries.sources.routes import Routes, read_registry, read_routes
