"""Check and build proofs of headers, tries and accounts, from bytes alone.

This package imports neither Django nor other packages of Tacitus, and uses no network or clock. An
audit of what Tacitus calls proven reads this folder and two small libraries.

Other packages use the names below, those of `proving.facts` and those of `proving.beacon`; `make
lint` refuses the rest.
"""

from queries.proving.accounts import (
    ADDRESS_BYTES,
    AccountProof,
    AccountState,
    check_account_proof,
    rebuild_account_proof,
    root_of_answer,
)
from queries.proving.attestations import BlockAttestation
from queries.proving.beacon_chains import BEACON_CHAINS, COMPARE_YOURSELF, beacon_differences
from queries.proving.block_items import (
    BLOOM_BYTES,
    MAX_TOPICS,
    TRANSACTION_FIELDS,
    BlockItem,
    Log,
    Receipt,
    Withdrawal,
    receipt_from_json,
    transaction_from_json,
    withdrawal_from_json,
)
from queries.proving.bundle_checks import MAX_BUNDLE_MIB, check_bundle
from queries.proving.bundles import (
    BUNDLE_FORMAT,
    BUNDLE_VERSION,
    BlockProof,
    Bundle,
    ClaimedRegistry,
    ClaimedTransaction,
    write_bundle,
)
from queries.proving.errors import (
    AnswerMalformedError,
    ArgumentMalformedError,
    BloomUndecidedError,
    BundleRefusedError,
    BundleTooLargeError,
    ItemMissingError,
    ItemNotProvableError,
    NotAbsentError,
    ProofError,
    RootMismatchError,
    TrieNodeHashMismatchError,
    TrieNodeMissingError,
    TrieNodeSurplusError,
)
from queries.proving.event_witness import (
    PROVE_EVENTS_SELECTOR,
    EventGroups,
    build_event_witness,
    encode_event_groups,
    prove_events_call,
    read_event_witness,
    select_groups,
)
from queries.proving.headers import (
    ARBOS_WITH_HISTORY,
    FIELD_RULES,
    FieldFormat,
    Header,
    HeaderField,
    arbos_version,
    decode_header,
    header_from_json,
)
from queries.proving.index_tries import IndexTrie
from queries.proving.json_values import (
    MAX_JSON_VALUES,
    encode_hex,
    has_too_many_values,
    read_bytes,
    read_fixed_bytes,
    read_list,
    read_object,
    read_quantity,
)
from queries.proving.keccak import (
    EMPTY_CODE_HASH,
    EMPTY_TRIE_ROOT,
    EMPTY_UNCLES_HASH,
    HASH_BYTES,
    checksum_address,
    keccak256,
    number_word,
)
from queries.proving.outputs import output_in_super_root, output_root, super_root_time
from queries.proving.packing import (
    CALLDATA_BYTES,
    FLOOR_BYTE_GAS,
    HEADER_BYTES,
    HEADERS_PER_HOP,
    OSAKA,
    GasRules,
    estimate_account_gas,
    pack,
    split_accounts,
)
from queries.proving.registry_calls import (
    ARBITRUM_HISTORY_RING,
    HISTORY_RING,
    HORIZON,
    PROVE_SELECTOR,
    SectionHeader,
    accumulated_section,
    block_leaf,
    headers_section,
    history_slot,
    prove_call,
)
from queries.proving.rlp_items import (
    EMPTY_STRING,
    encode_list,
    encode_string,
    read_string,
    split_list,
)
from queries.proving.ssz import SszError
from queries.proving.sync_committees import (
    MIN_COMMITTEE_SIGNERS,
    SYNC_COMMITTEE_SIZE,
    SyncCommittee,
)
from queries.proving.tries import CheckedNodes
from queries.proving.witnesses import AccountField, AccountToStore, build_witness
