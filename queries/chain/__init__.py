"""Ask nodes about a chain, verify what can be verified, and sign transactions.

Other packages use the names below; `make lint` refuses the rest.
"""

from queries.chain.answers import (
    BASE_GAS,
    BYTE_GAS,
    FLOOR_ZERO_BYTE_GAS,
    ZERO_BYTE_GAS,
    AccountSlots,
    ChainHead,
    CheckedFinality,
    FoundLog,
    TransactionReceipt,
    read_hex,
)
from queries.chain.beacon_configuration import announced_fork, compare_configuration
from queries.chain.beacon_node import BeaconNode, BeaconNodes
from queries.chain.block_contents import BlockContent, fetch_receipts, fetch_transactions
from queries.chain.client import UNMEASURED_ERRORS, ChainClient
from queries.chain.committees import KnownCommittees, refuse_future
from queries.chain.contract_wallets import ask_contract_wallet
from queries.chain.ens import can_resolve_names, resolve_names
from queries.chain.errors import (
    PROOF_TOO_OLD_ERRORS,
    AnotherBlockAccumulatedError,
    BeaconAnswersInvalidError,
    BeaconError,
    BeaconNodesRefuseError,
    BeaconNodesUnreachableError,
    BeaconObjectUnknownError,
    BeyondHorizonError,
    BlockUnknownError,
    BloomInconclusiveError,
    CallRevertedError,
    ChainError,
    ChainRefusalError,
    CheckpointTooOldError,
    EnsOffChainError,
    EnsUnresolvedError,
    EventError,
    EventExistsError,
    EventNotFoundError,
    EventNotProvableError,
    FeesTooHighError,
    HistoryMissingError,
    HistoryPrunedError,
    InsufficientFundsError,
    InvalidAnswersError,
    KeyUsedElsewhereError,
    MethodMissingError,
    NodeError,
    NodesRefuseError,
    NodesUnreachableError,
    NonceUsedError,
    NoQuorumError,
    ParametersRejectedError,
    ProofWindowExceededError,
    RateLimitedError,
    RegistryAbsentError,
    RegistryMisreadError,
    RollupUnreadableError,
    SourceReorgError,
    StateNotAvailableError,
    StateOfAnotherBlockError,
    StateRootEmptyError,
    TimeTooEarlyError,
    TooMuchGasError,
    TransactionRefusedError,
    UnderpricedError,
    WrongChainIdError,
)
from queries.chain.gas_rules import DRY_RUN_SENDER, measure_gas_rules, next_fork_time
from queries.chain.json_rpc import JsonRpc, JsonRpcError, NodeTransportError
from queries.chain.light_client import LightClientState, advance_light_client, begin_light_client
from queries.chain.logs import EventSource, read_logs
from queries.chain.node_pool import NodePool, Poll
from queries.chain.offchain_lookup import (
    READ_HEADER_RECENT,
    READ_RECENT,
    GatewayError,
    follow_lookup,
)
from queries.chain.proof_window import first_block_distance, measure_proof_window
from queries.chain.signer import (
    Fees,
    Signer,
    SignerUnusableError,
    UnsignedTransaction,
    decode_transaction,
    open_signer,
)
