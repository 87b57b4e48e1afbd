"""Read models for pages and the API. The number of statements does not depend on that of rows.

Pages and the API use the names below; `make lint` refuses the rest.
"""

from queries.reading.batch_details import (
    MAX_NAMED_FACTS,
    BatchSummary,
    Progress,
    StepProgressView,
    StoredRequest,
    TransactionShare,
    batch_progress,
    batch_summaries,
    parse_progress,
    progress_rows,
    read_progress,
    requested_data,
    stored_request,
    transaction_shares,
)
from queries.reading.batches import (
    LATE,
    AskedFor,
    BatchFilter,
    BatchView,
    QueryPage,
    QueryView,
    StepView,
    batch_sources,
    batch_view,
    count_batches,
    count_newer_batches,
    find_query,
    first_query_key_and_time,
    listed_batches,
    owns_batch,
    query_by_pk,
    query_fact_counts,
    query_page,
    query_progress,
    step_transactions,
)
from queries.reading.chain_heads import HeadView, last_final_block, read_chain_heads, state_horizon
from queries.reading.chain_objects import (
    MAX_COUNTED_BLOCKS,
    MAX_COUNTED_QUERIES,
    AccountView,
    BlockView,
    HeaderFieldView,
    TransactionView,
    account_view,
    block_view,
    blocks_of_registry,
    route_block_count,
    transaction_view,
)
from queries.reading.changes import (
    account_changes,
    chain_changes,
    feed_changes,
    minute_of,
    own_feed_changes,
    registry_changes,
)
from queries.reading.deliveries import (
    DeliveryView,
    ProvenValues,
    delivery_gas,
    delivery_states,
    read_deliveries,
)
from queries.reading.fact_lists import (
    FACT_LIST_COLUMNS,
    FactRows,
    ListedGroup,
    ListEntry,
    ListLine,
    ListSummary,
    QueryReference,
    account_facts,
    block_facts,
    read_groups,
    summarise_facts,
    transaction_facts,
)
from queries.reading.fact_proof import FactProof, ProofNode, read_fact_proof
from queries.reading.facts import (
    FactMatch,
    FactView,
    TokenView,
    account_fact_page,
    block_fact_page,
    facts_mentioning,
    find_fact,
    open_batch,
    read_batch_facts,
    registry_fact_page,
)
from queries.reading.feed_values import (
    MAX_COUNTED_RUNS,
    MAX_POINTS,
    MAX_VALUES,
    FeedValue,
    delivery_counts,
    feed_history,
    feed_value_page,
    first_values,
    newest_values,
)
from queries.reading.feeds import (
    FeedRunView,
    FeedView,
    RepeatedBatch,
    RunDetails,
    feed_of_batch,
    feed_page,
    feed_view,
    find_feed,
    newest_runs,
    owns_feed,
    public_feed,
    repeated_batch,
    run_details_page,
    run_page,
    run_view,
)
from queries.reading.figures import (
    MAX_SUMMED_BATCHES,
    MIN_CHART_DAYS,
    PeriodTotals,
    RouteFigures,
    account_usage,
    all_time_totals,
    duration_quantile,
    newest_proven_blocks,
    recent_batches,
    route_figures,
)
from queries.reading.light_clients import read_committee
from queries.reading.metrics import Metric, Sample, read_metrics
from queries.reading.pagination import MAX_BIGINT, Cursor, Page, parse_cursor, read_page
from queries.reading.proof_file import build_proof_file
from queries.reading.readiness import BlockReadiness, block_readiness
from queries.reading.registry_states import RegistryState, read_registry_states
from queries.reading.search import (
    accounts_with_name,
    accounts_with_prefix,
    batches_until,
    batches_with_prefix,
    blocks_with_hash,
    blocks_with_hash_prefix,
    blocks_with_number,
    chains_of_transaction,
    feeds_with_prefix,
    is_account,
    names_with_prefix,
    tokens_with_symbol,
    transactions_with_prefix,
)
from queries.reading.service_status import (
    LATE_FACTOR,
    MAX_COUNTED_BATCHES,
    ChainStatus,
    LateBatches,
    chain_statuses,
    open_batch_count,
    read_late_batches,
)
from queries.reading.vouchers import VouchedHash, read_vouchers
from queries.reading.waits import AwaitedBlock, awaited_blocks, missing_signers
