export type AbsenceBody = {
    /** Without `address`: an index at or beyond the end of the block's transactions. */
    transaction?: number | Hex;
    /** An index at or beyond the end of the block's withdrawals. */
    withdrawal?: number;
    /** The contract that emitted no such log. */
    address?: Hex;
    /** By position, as in eth_getLogs; null matches any topic. */
    topics?: ReadonlyArray<null | Hex | ReadonlyArray<Hex>>;
    /** A topic that no log of the block has at any position. */
    topic?: Hex;
};
export type AccountBody = {
    /** Fields of the account: its nonce, balance and so on. */
    props?: ReadonlyArray<"NONCE" | "BALANCE" | "STORAGE_ROOT" | "CODE_HASH">;
    /** Storage slots: 0x and 1 to 64 hex digits each. */
    slots?: ReadonlyArray<Hex>;
};
export type AttemptResponse = {
    made: string;
    /** The HTTP status. */
    status: number | null;
    fault: string | null;
    milliseconds: number;
};
export type BatchRequest = {
    /** The id of the chain on which the facts are to be read, in decimal, or an alias that the operator gave it. */
    destinationChainId: string;
    /** The maximum that may be spent on the batch, in wei of the destination chain. Send "0" where proving is free; elsewhere POST /estimate returns a fee. */
    fee: string;
    /** The blocks to prove, by the id of their source chain. A block's key is `block:` and its number, or `timestamp:` and Unix seconds for the last block at or before that time. */
    data: {
        readonly [chain: string]: {
            readonly [block: string]: BlockBody;
        };
    };
    webhook?: WebhookBody;
    /** Calls of contracts on the destination, once the batch is DONE. */
    deliver?: ReadonlyArray<DeliveryBody>;
    /** Whether facts are stored in a registry. false: headers and proofs are checked here and only delivered, to contracts that know block hashes by themselves. Then the chains need no route, and `deliver` must not be empty. */
    prove?: boolean;
    /** The contract that names the block whose selector is `block:$block`. It is asked once, when a prover takes the batch; then answers show the block by its number. */
    block?: NamedBlockBody;
};
export type BatchResponse = {
    /** The status that existing clients read: DONE, REJECTED, or IN_PROGRESS for the rest. */
    queryStatus: "DONE" | "IN_PROGRESS" | "REJECTED";
    internalId: string;
    status: BatchStatus;
    destinationChainId: string;
    /** The maximum that may be spent, in wei. */
    fee: string;
    /** What was spent so far, in wei. It can still change, by little, until the transactions are final: a reorganisation may mine them again at another gas price. */
    spent: string;
    submitted: string;
    ended: string | null;
    /** The reason for waiting, in a sentence. */
    waitsFor: string | null;
    /** The code of `waitsFor`, for programs: one of the codes of a batch. */
    waitCode: string | null;
    /** Why the batch was REJECTED. */
    rejection?: RejectionResponse | null;
    /** Why the batch was REJECTED, as a list. */
    info?: ReadonlyArray<string>;
    /** false: nothing is stored in a registry, only delivered. Left out otherwise. */
    prove?: boolean;
    /** Its deliveries; the batch may be DONE before they have ended. */
    deliveries?: ReadonlyArray<DeliveryResponse>;
};
export type BatchStatus = "RECEIVED" | "ACCEPTED" | "IN_PROGRESS" | "DONE" | "REJECTED";
export type BlockBody = {
    /** Fields of the block's header. */
    header?: ReadonlyArray<"PARENT_HASH" | "UNCLES_HASH" | "COINBASE" | "PROPOSER" | "STATE_ROOT" | "TRANSACTIONS_ROOT" | "RECEIPTS_ROOT" | "LOGS_BLOOM" | "DIFFICULTY" | "BLOCK_NUMBER" | "GAS_LIMIT" | "GAS_USED" | "TIMESTAMP" | "EXTRA_DATA" | "MIX_HASH" | "NONCE" | "BASE_FEE_PER_GAS" | "WITHDRAWALS_ROOT" | "BLOB_GAS_USED" | "EXCESS_BLOB_GAS" | "PARENT_BEACON_BLOCK_ROOT" | "REQUESTS_HASH">;
    /** Accounts at that block, by address (in any letter case) or by ENS name, if the operator has set up ENS for the source chain. The nodes resolve the name at that block; the proof is of the address, not of the name. */
    accounts?: {
        readonly [account: string]: AccountBody;
    };
    /** Logs of the block. */
    logs?: ReadonlyArray<LogBody>;
    /** Receipts, by their transactions. */
    receipts?: ReadonlyArray<number | Hex>;
    /** Transactions, by hash or by index in the block. */
    transactions?: ReadonlyArray<number | Hex>;
    /** Withdrawals, by index in the block. */
    withdrawals?: ReadonlyArray<number>;
    /** Items that the block does not contain. */
    absent?: ReadonlyArray<AbsenceBody>;
};
export type BlockEstimateResponse = {
    originChainId: string;
    selectors: ReadonlyArray<string>;
    block: string | null;
    lastFinalBlock: string;
    /** Whether the block could be proven now. A submitted batch waits for a block that is NOT_FINAL, or NOT_KNOWN to the destination (`waitCode` says why), and is rejected for one that is OUT_OF_REACH or FAILS. */
    readiness: Readiness;
    /** The reason for waiting, in a sentence. */
    waitsFor: string | null;
    /** The code of `waitsFor`, for programs: one of the codes of a batch. */
    waitCode: string | null;
    error: string | null;
    code: string | null;
    distance: string | null;
    /** The number of proofs of earlier block hashes (EIP-2935) that lead down to the block. */
    hops: number;
    /** Facts that are in the registry already. */
    proven: ReadonlyArray<ProvenResponse>;
    price: PriceResponse | null;
};
export type CatchUp = "latest" | "all";
export type ChainResponse = {
    name: string;
    /** Names that requests may use in place of the id. */
    aliases: ReadonlyArray<string>;
};
export type ConditionBody = {
    /** The function, as in Solidity: `view` or `pure`, and it returns one bool. */
    function: string;
    /** Its arguments, as those of the delivery. They may have placeholders. */
    args: ReadonlyArray<unknown>;
};
export type ConnectionListResponse = {
    connections: ReadonlyArray<ConnectionResponse>;
};
export type ConnectionResponse = {
    originChainId: string;
    destinationChainId: string;
    origin: ChainResponse;
    destination: ChainResponse;
    kind: RegistryKind;
    registry: Hex;
    /** Where the events verifier beside the registry is, or will be once it is deployed: the address follows from its code and the registry's address. */
    eventsVerifier: Hex;
    /** Where the contract is that reads facts without a transaction (ERC-3668), likewise. null if the operator names no gateways. */
    lookup: Hex | null;
    /** The arguments of the lookup's constructor, ABI-encoded: registry, events verifier, and the URLs of the gateways. Its address follows from them and its bytecode. */
    lookupArguments: Hex | null;
    /** Where the router over all registries of the destination is, or will be once `deploy_router` deploys it: the address follows from its code and the registries. */
    router: Hex;
    /** Where the router over their events verifiers is, likewise. */
    eventsRouter: Hex;
    /** Where the contract is that calls yours when a batch has deliveries, likewise: it has the same address on every chain, and no rights. */
    courier: Hex;
    /** ABI-encoded. The registry's address follows from them and the bytecode of its kind. */
    constructorArguments: Hex;
    /** Whether its address proves its code and its constructor's arguments. */
    verifiable: boolean;
    /** From then on the registry takes no headers. */
    horizon: string;
    /** From then on it takes no accounts and slots. Earlier than `horizon` if a header was shown not to hold the state after its block. */
    stateHorizon: string;
    /** The origin's newest block, as a prover recorded it last. null: not known yet. */
    newestBlock: string | null;
    /** The newest of its blocks that is final enough to be proven on this route. */
    finalBlock: string | null;
    /** The origin's nodes can prove accounts up to this many blocks before the newest one; at most 8,191 are measured, and a node that proves all blocks of a younger chain has 8,191 too. -1: for no block. null: not measured yet. */
    blocksBack: number | null;
};
export type DeliveryBody = {
    /** The contract's address on the destination. ENS names are not accepted. */
    to: Hex;
    /** The function, as in Solidity. Names of parameters, `function`, `external` and `returns (…)` may be left out. */
    function: string;
    /** Its arguments. Integers are text or JSON numbers below 2^53; addresses and bytes are hex digits after 0x; arrays and tuples are lists. A text that begins with $ is a placeholder, such as `$block` or `$value(0xACCOUNT.BALANCE)`: the guide *Deliver* lists them. A text that really begins with $ is written with $$. */
    args: ReadonlyArray<unknown>;
    /** The gas that the call may use, 21,000 to 5,000,000. Without it, a trial run just before the transaction shows the need, and the call gets half as much on top. */
    gas?: string;
    /** A view of the contract that is called first: if it returns true, nothing is delivered. */
    unless?: ConditionBody;
    /** Errors of the contract, as in Solidity, of parameters that are not lists or tuples. If it reverts with one of them, the reason has its name. Common ones, such as OpenZeppelin's, are known. */
    errors?: ReadonlyArray<string>;
};
export type DeliveryErrorResponse = {
    /** One of the codes of a delivery, or of a rejected batch. */
    code: string;
    message: string;
};
export type DeliveryPriceResponse = {
    transactions: number;
    bytes: number;
    gas: string;
    gasPrice: string;
    /** In wei. */
    cost: string;
    /** The gas that the contract gets: the request's, or half as much on top of what a trial run needs now. */
    contractGas: string;
    /** Whether `contractGas` is an assumption, because the contract refuses the call before the facts are proven: 100,000 gas, 100 for each byte of calldata and 2 new slots, and half as much on top. */
    assumed: boolean;
};
export type DeliveryResponse = {
    /** The contract. */
    to: Hex;
    /** As requested. */
    function: string;
    /** SENT until its transaction is deep enough, then DELIVERED; SENT again if a reorganisation removes it. SKIPPED: `unless` was true. */
    state: DeliveryState;
    ended: string | null;
    /** null until it is sent. */
    transactionHash: Hex | null;
    transactionBlock: string | null;
    /** The gas that the contract gets; null until a trial run has set it. */
    gas: string | null;
    /** What sets it. TRIAL: half as much on top of what a trial run needed. */
    gasSource: GasSource;
    gasUsed: string | null;
    /** The reason for waiting, in a sentence. */
    waitsFor: string | null;
    /** The code of `waitsFor`, for programs: one of the codes of a batch. */
    waitCode: string | null;
    /** How often it would have failed, or has, so far. */
    refusals: number;
    /** While it waits after a refusal. */
    nextAttempt: string | null;
    /** Why it FAILED. */
    error: DeliveryErrorResponse | null;
};
export type DeliveryState = "WAITING" | "SENT" | "DELIVERED" | "SKIPPED" | "FAILED";
export type ErrorResponse = {
    /** A sentence for people. */
    error: string;
    /** The error's code, for programs. */
    code: "account_disabled" | "account_malformed" | "argument_malformed" | "attestation_contradicted" | "attestation_malformed" | "attestation_untrusted" | "attestation_unwanted" | "bad_request" | "batch_ended" | "batch_exceeds_daily_limit" | "batch_not_done" | "batch_rejected" | "batch_unknown" | "block_beyond_head" | "body_too_large" | "chain_unavailable" | "chain_unsupported" | "content_type_unsupported" | "delivery_malformed" | "delivery_unknown" | "duplicate_key" | "empty_request" | "estimates_busy" | "event_malformed" | "fact_not_provable" | "fee_malformed" | "fee_missing" | "fee_too_low" | "feed_ended" | "feed_malformed" | "feed_not_runnable" | "feed_unknown" | "function_malformed" | "head_unknown" | "host_unknown" | "https_needed" | "idempotency_key_malformed" | "idempotency_key_reused" | "internal_error" | "key_missing" | "key_revoked" | "key_unknown" | "list_too_long" | "lookup_unavailable" | "method_not_allowed" | "missing_field" | "nested_too_deeply" | "not_found" | "not_json" | "not_provable" | "not_provable_now" | "number_malformed" | "parameter_malformed" | "proof_unavailable" | "proofs_busy" | "question_unknown" | "registry_unknown" | "route_unsupported" | "selector_malformed" | "slot_malformed" | "text_not_storable" | "too_many_accounts" | "too_many_attestations" | "too_many_blocks" | "too_many_estimates" | "too_many_events" | "too_many_facts" | "too_many_feeds" | "too_many_replays" | "too_many_requests" | "too_many_slots" | "too_many_webhook_headers" | "transaction_signed" | "unavailable" | "unknown_field" | "unknown_header_field" | "unknown_placeholder" | "unknown_prop" | "webhook_headers_too_large" | "webhook_malformed" | "wrong_type";
    /** The value in the request that is at fault. */
    path: string;
    /** Whether sending the same request again may help. */
    retryable: boolean;
    /** More detail, where `error` is a fixed text because clients compare it. */
    detail?: string;
    /** The same as `error`, in answers to lookups. */
    message?: string;
};
export type EstimateRequest = {
    /** The id of the chain on which the facts are to be read, in decimal, or an alias that the operator gave it. */
    destinationChainId: string;
    /** Optional, and ignored: an estimate does not depend on the fee. Accepted so that a batch's body can be sent unchanged. */
    fee?: string;
    /** The blocks to prove, by the id of their source chain. A block's key is `block:` and its number, or `timestamp:` and Unix seconds for the last block at or before that time. */
    data: {
        readonly [chain: string]: {
            readonly [block: string]: BlockBody;
        };
    };
    webhook?: WebhookBody;
    /** Calls of contracts on the destination, once the batch is DONE. */
    deliver?: ReadonlyArray<DeliveryBody>;
    /** Whether facts are stored in a registry. false: headers and proofs are checked here and only delivered, to contracts that know block hashes by themselves. Then the chains need no route, and `deliver` must not be empty. */
    prove?: boolean;
    /** The contract that names the block whose selector is `block:$block`. It is asked once, when a prover takes the batch; then answers show the block by its number. */
    block?: NamedBlockBody;
};
export type EstimateResponse = {
    transactions: number;
    bytes: number;
    gas: string;
    gasPrice: string;
    /** In wei. */
    cost: string;
    destinationChainId: string;
    free: boolean;
    /** A sufficient `fee`, in wei. */
    feeNeeded: string;
    /** Whether `cost` includes the price of every block. */
    complete: boolean;
    warnings: ReadonlyArray<WarningResponse>;
    blocks: ReadonlyArray<BlockEstimateResponse>;
    /** What each delivery costs at most, if its contract uses all the gas that it gets. `feeNeeded` includes it, and `cost` does not. Left out without deliveries. */
    deliveries?: ReadonlyArray<DeliveryPriceResponse>;
};
export type EventDelivery = {
    to: Hex;
    function: string;
    state: DeliveryState;
    transactionHash: Hex | null;
    error: DeliveryErrorResponse | null;
};
export type EventFacts = {
    originChainId: string;
    block: string | null;
    account: Hex | null;
    name: string | null;
    values: {
        readonly [name: string]: Hex;
    } | null;
};
export type EventFailure = {
    error: string;
    /** For programs: one of the codes of a batch. */
    code: string;
    retryable: boolean;
    step: StepName | null;
};
export type EventResponse = {
    /** The fact's kind, and where it is in the block. */
    name: string;
    transactionIndex?: number | null;
    /** The log's index within its receipt. */
    log?: number | null;
    /** The log's index within the block, as JSON-RPC counts. */
    logIndex?: number | null;
    /** The withdrawal's index in the block. */
    position?: number | null;
    /** The log's emitter, or the withdrawal's recipient. */
    address?: Hex | null;
    topics?: ReadonlyArray<Hex> | null;
    /** The log's data, in hex. */
    data?: Hex | null;
    transactionHash?: Hex | null;
    /** The transaction's type. */
    type?: number | null;
    /** 1 succeeded, 0 failed; left out before Byzantium. */
    status?: number | null;
    cumulativeGasUsed?: string | null;
    logCount?: number | null;
    withdrawalIndex?: string | null;
    validatorIndex?: string | null;
    /** Of the withdrawal, in Gwei. */
    amount?: string | null;
};
export type EventWitnessResponse = {
    block: string;
    verifier: Hex;
    /** The first parameter of `verify`. */
    section: Hex;
    /** The second parameter of `verify`. */
    witness: Hex;
    facts: ReadonlyArray<VerifiedFactResponse>;
    gas: string;
};
export type FeedBatchBody = {
    /** The id of the chain on which the facts are to be read, in decimal, or an alias that the operator gave it. */
    destinationChainId: string;
    /** The maximum that may be spent on the batch, in wei of the destination chain. Send "0" where proving is free; elsewhere POST /estimate returns a fee. */
    fee: string;
    /** The block to prove, by the id of its source chain. */
    data: {
        readonly [chain: string]: {
            readonly [block: string]: BlockBody;
        };
    };
    webhook?: WebhookBody;
    /** Calls of contracts on the destination, once the batch is DONE. */
    deliver?: ReadonlyArray<DeliveryBody>;
    /** Whether facts are stored in a registry. false: headers and proofs are checked here and only delivered, to contracts that know block hashes by themselves. Then the chains need no route, and `deliver` must not be empty. */
    prove?: boolean;
    /** The contract that names the block whose selector is `block:$block`. It is asked once, when a prover takes the batch; then answers show the block by its number. */
    block?: NamedBlockBody;
};
export type FeedDetailsResponse = {
    id: string;
    name: string | null;
    /** PAUSED by its owner, or after 5 runs in a row whose batch was refused or REJECTED, or has a delivery that FAILED or was refused twice; this is noticed when the next run is due. ENDED feeds stay so. */
    state: FeedState;
    /** Why it is paused or has ended. */
    reason: string | null;
    /** Why a run that is due waits. */
    waitsFor: string | null;
    /** Deliveries that the contract refuses. */
    refused: RefusedDeliveriesResponse | null;
    /** Of an active feed, that its newest runs have failed or are refused, and why. */
    failure: string | null;
    /** What it repeats and how often, as its page says it. */
    sentence: string;
    originChainId: string;
    /** null if the server no longer has this chain. */
    destinationChainId: string | null;
    /** The destination's: fees and the budget are paid in it. */
    coin: string;
    every?: string | null;
    /** As in the request. */
    on?: {
        readonly [name: string]: unknown;
    } | null;
    /** As in the request. */
    when?: {
        readonly [name: string]: unknown;
    } | null;
    /** The block or time of its next run, or of its next look at the value; null if it runs for logs or has ended. */
    nextDue: string | null;
    /** With `when`, the value that was proven last, as a decimal number. */
    lastValue: string | null;
    /** Likewise the value that was read last, not proven. */
    readValue: string | null;
    newestValue: FeedValueResponse | null;
    /** The Unix time of the last run. */
    until: number | null;
    /** What its runs may spend in 24 hours, in wei. */
    budget: string | null;
    /** Which runs it makes up for after a pause. */
    catchUp: CatchUp;
    created: string;
    /** Without the webhook's headers. */
    batch: {
        readonly [name: string]: unknown;
    };
    /** A page of its runs, newest first. */
    runs: ReadonlyArray<FeedRunResponse>;
    /** The cursor of the next page of runs. */
    cursor: string | null;
};
export type FeedRequest = {
    /** How often: a number of blocks of the source, or a time. Due are the block numbers, or the Unix times, that it divides: days begin at 0:00 UTC, and weeks on Thursday, as 1970 did. */
    every?: string;
    /** One run for each log, once its block is final. */
    on?: LogTriggerBody;
    /** A run when the value has changed. */
    when?: ValueTriggerBody;
    /** For lists and pages. */
    name?: string | null;
    /** The body of a batch, with `$due` in place of its block's number or time. */
    batch: FeedBatchBody;
    /** The Unix time of the last run. */
    until?: number;
    /** The maximum that its runs may spend in 24 hours, in wei of the destination chain. A run reserves its fee until it has ended, with its deliveries; on a server that proves for free, as much as the dearest run has spent. A run that does not fit waits. */
    budget?: string;
    /** The runs to make up for after a pause: the `latest` that was due, or `all`, at most 100. Of a pause's logs, `latest` leaves out all. */
    catchUp?: "latest" | "all";
};
export type FeedResponse = {
    id: string;
    name: string | null;
    /** PAUSED by its owner, or after 5 runs in a row whose batch was refused or REJECTED, or has a delivery that FAILED or was refused twice; this is noticed when the next run is due. ENDED feeds stay so. */
    state: FeedState;
    /** Why it is paused or has ended. */
    reason: string | null;
    /** Why a run that is due waits. */
    waitsFor: string | null;
    /** Deliveries that the contract refuses. */
    refused: RefusedDeliveriesResponse | null;
    /** Of an active feed, that its newest runs have failed or are refused, and why. */
    failure: string | null;
    /** What it repeats and how often, as its page says it. */
    sentence: string;
    originChainId: string;
    /** null if the server no longer has this chain. */
    destinationChainId: string | null;
    /** The destination's: fees and the budget are paid in it. */
    coin: string;
    every?: string | null;
    /** As in the request. */
    on?: {
        readonly [name: string]: unknown;
    } | null;
    /** As in the request. */
    when?: {
        readonly [name: string]: unknown;
    } | null;
    /** The block or time of its next run, or of its next look at the value; null if it runs for logs or has ended. */
    nextDue: string | null;
    /** With `when`, the value that was proven last, as a decimal number. */
    lastValue: string | null;
    /** Likewise the value that was read last, not proven. */
    readValue: string | null;
    newestValue: FeedValueResponse | null;
    /** The Unix time of the last run. */
    until: number | null;
    /** What its runs may spend in 24 hours, in wei. */
    budget: string | null;
    /** Which runs it makes up for after a pause. */
    catchUp: CatchUp;
    created: string;
    /** Without the webhook's headers. */
    batch: {
        readonly [name: string]: unknown;
    };
};
export type FeedRunResponse = {
    due: string;
    /** The index within the block of the log that it ran for. */
    logIndex: number | null;
    submitted: string;
    batchQueryId: string | null;
    /** Of its batch. */
    status: BatchStatus | null;
    /** The states of the batch's deliveries, in their order. */
    deliveries: ReadonlyArray<DeliveryState>;
    value: FeedValueResponse | null;
    /** Why no batch was submitted. */
    error: RunErrorResponse | null;
};
export type FeedState = "ACTIVE" | "PAUSED" | "ENDED";
export type FeedValueResponse = {
    block: string;
    account: Hex | null;
    name: string;
    word: Hex;
    /** Of an amount in wei, the chain's coin. */
    coin: string | null;
};
export type GasSource = "REQUEST" | "TRIAL";
export type LogBody = {
    /** The transaction's hash, or its index in the block. */
    transaction?: number | Hex;
    /** The log's index within its receipt. */
    log?: number;
    /** The log's index within the block, as JSON-RPC counts. */
    logIndex?: number;
    /** The contract that emitted the logs. */
    address?: Hex;
    /** By position, as in eth_getLogs; null matches any topic. */
    topics?: ReadonlyArray<null | Hex | ReadonlyArray<Hex>>;
};
export type LogTriggerBody = {
    /** The contract. */
    address: Hex;
    /** The event as in Solidity, with `indexed`. `$topic1` to `$topic3` are its indexed parameters, `$data[0]` and so on the others. */
    event: string;
    /** By position, as in eth_getLogs; null matches any topic. The first one is the event's, so null stands there. */
    topics?: ReadonlyArray<null | Hex | ReadonlyArray<Hex>>;
};
export type NamedBlockBody = {
    /** The contract's address on the destination. */
    from: Hex;
    /** The function: it takes no arguments, and returns one unsigned integer. */
    function: string;
};
export type NewFeedResponse = {
    id: string;
    name: string | null;
    /** PAUSED by its owner, or after 5 runs in a row whose batch was refused or REJECTED, or has a delivery that FAILED or was refused twice; this is noticed when the next run is due. ENDED feeds stay so. */
    state: FeedState;
    /** Why it is paused or has ended. */
    reason: string | null;
    /** Why a run that is due waits. */
    waitsFor: string | null;
    /** Deliveries that the contract refuses. */
    refused: RefusedDeliveriesResponse | null;
    /** Of an active feed, that its newest runs have failed or are refused, and why. */
    failure: string | null;
    /** What it repeats and how often, as its page says it. */
    sentence: string;
    originChainId: string;
    /** null if the server no longer has this chain. */
    destinationChainId: string | null;
    /** The destination's: fees and the budget are paid in it. */
    coin: string;
    every?: string | null;
    /** As in the request. */
    on?: {
        readonly [name: string]: unknown;
    } | null;
    /** As in the request. */
    when?: {
        readonly [name: string]: unknown;
    } | null;
    /** The block or time of its next run, or of its next look at the value; null if it runs for logs or has ended. */
    nextDue: string | null;
    /** With `when`, the value that was proven last, as a decimal number. */
    lastValue: string | null;
    /** Likewise the value that was read last, not proven. */
    readValue: string | null;
    newestValue: FeedValueResponse | null;
    /** The Unix time of the last run. */
    until: number | null;
    /** What its runs may spend in 24 hours, in wei. */
    budget: string | null;
    /** Which runs it makes up for after a pause. */
    catchUp: CatchUp;
    created: string;
    /** Without the webhook's headers. */
    batch: {
        readonly [name: string]: unknown;
    };
    /** Those of its batch, as in the response to a submission. */
    warnings: ReadonlyArray<WarningResponse>;
};
export type PriceResponse = {
    transactions: number;
    bytes: number;
    gas: string;
    gasPrice: string;
    /** In wei. */
    cost: string;
};
export type ProofBlockResponse = {
    block: string;
    blockHash: Hex;
    originChainId: string;
    /** RLP. */
    header: string;
    /** Calldata of `prove()`. Each call is valid on its own; together they prove the facts. */
    calls: ReadonlyArray<string>;
};
export type ProofResponse = {
    batch: string;
    /** Sorted by source chain and block number. */
    blocks: ReadonlyArray<ProofBlockResponse>;
    destinationChainId: string;
    /** Detects damage, not forgery: a forger can compute it again. */
    digest: Hex;
    format: "tacitus-proof";
    /** The version of the format. Refuse any other. */
    version: 1;
};
export type ProvenResponse = {
    account: Hex | null;
    name: string | null;
    facts: ReadonlyArray<string>;
};
export type QueryResponse = {
    originChainId: string;
    /** The block as it was asked for. */
    selector: string;
    /** null until a timestamp's block is known. */
    block: string | null;
    account: Hex | null;
    /** The ENS name, if the request named the account by one. */
    name: string | null;
    props: ReadonlyArray<"NONCE" | "BALANCE" | "STORAGE_ROOT" | "CODE_HASH">;
    slots: ReadonlyArray<Hex>;
    header: ReadonlyArray<"PARENT_HASH" | "UNCLES_HASH" | "COINBASE" | "PROPOSER" | "STATE_ROOT" | "TRANSACTIONS_ROOT" | "RECEIPTS_ROOT" | "LOGS_BLOOM" | "DIFFICULTY" | "BLOCK_NUMBER" | "GAS_LIMIT" | "GAS_USED" | "TIMESTAMP" | "EXTRA_DATA" | "MIX_HASH" | "NONCE" | "BASE_FEE_PER_GAS" | "WITHDRAWALS_ROOT" | "BLOB_GAS_USED" | "EXCESS_BLOB_GAS" | "PARENT_BEACON_BLOCK_ROOT" | "REQUESTS_HASH">;
    /** What was asked for of the block's content, once its header is known. */
    events?: ReadonlyArray<EventResponse>;
    steps: ReadonlyArray<StepResponse>;
    /** The reason for waiting, in a sentence. */
    waitsFor: string | null;
    /** The code of `waitsFor`, for programs: one of the codes of a batch. */
    waitCode: string | null;
    /** Once the query's steps are COMPLETED: the values in the registry, 32 bytes each, in hex. The batch may still wait for its other queries. null in a batch that is REJECTED, and again if a reorg removed them and they could not be proven again; the last step has the error then. */
    values: {
        readonly [name: string]: Hex;
    } | null;
    /** As soon as there are values: the contract that holds them, which is the events verifier for `events`, and the registry for others. */
    registry: Hex | null;
};
export type Readiness = "PROVEN" | "READY" | "NOT_FINAL" | "NOT_KNOWN" | "OUT_OF_REACH" | "FAILS";
export type ReceiptFact = {
    blockNumber: bigint;
    transactionIndex: bigint;
    status: number;
    transactionType: number;
    cumulativeGasUsed: bigint;
    logCount: number;
};
export type RefusedDeliveriesResponse = {
    deliveries: number;
    /** When the oldest one could be delivered. */
    since: string;
};
export type RegistryKind = "native" | "optimism" | "output" | "arbitrum" | "beacon" | "attested";
export type RejectionResponse = {
    /** For programs: one of the codes of a batch. */
    code: string;
    message: string;
    step: StepName | null;
    retryable: boolean;
};
export type RunErrorResponse = {
    code: string;
    message: string;
};
export type StatusResponse = {
    /** The status that existing clients read: DONE, REJECTED, or IN_PROGRESS for the rest. */
    queryStatus: "DONE" | "IN_PROGRESS" | "REJECTED";
    internalId: string;
    status: BatchStatus;
    destinationChainId: string;
    /** The maximum that may be spent, in wei. */
    fee: string;
    /** What was spent so far, in wei. It can still change, by little, until the transactions are final: a reorganisation may mine them again at another gas price. */
    spent: string;
    submitted: string;
    ended: string | null;
    /** The reason for waiting, in a sentence. */
    waitsFor: string | null;
    /** The code of `waitsFor`, for programs: one of the codes of a batch. */
    waitCode: string | null;
    /** Why the batch was REJECTED. */
    rejection?: RejectionResponse | null;
    /** Why the batch was REJECTED, as a list. */
    info?: ReadonlyArray<string>;
    /** false: nothing is stored in a registry, only delivered. Left out otherwise. */
    prove?: boolean;
    /** Its deliveries; the batch may be DONE before they have ended. */
    deliveries?: ReadonlyArray<DeliveryResponse>;
    /** Left out with details=0. */
    queries?: ReadonlyArray<QueryResponse>;
    /** The `fromQuery` of the next page of queries; null on the last page. */
    nextQuery?: number | null;
};
export type StepErrorResponse = {
    error: string;
    /** For programs: one of the codes of a batch. */
    code: string;
    retryable: boolean;
};
export type StepName = "INITIAL_STATE" | "BLOCKHASH_AVAILABLE" | "HEADER_ACCUMULATED" | "ACCOUNT_ACCUMULATED";
export type StepResponse = {
    step: StepName;
    /** null until the step begins. */
    status: StepStatus | null;
    started: string | null;
    completed: string | null;
    transactionHash: Hex | null;
    transactionBlock: string | null;
    gasUsed: string | null;
    /** Why the step was not completed. */
    error: StepErrorResponse | null;
};
export type StepStatus = "IN_PROGRESS" | "COMPLETED";
export type SubmissionResponse = {
    /** The address of the batch's page. */
    page: string;
    warnings: ReadonlyArray<WarningResponse>;
    /** The batch's id, for polling. */
    internalId: string;
};
export type ValueTriggerBody = {
    /** The value: `0xACCOUNT.BALANCE`, `0xACCOUNT.NONCE` or `0xACCOUNT.0xSLOT`. */
    value: string;
    /** The least change of the value that was proven last: hundredths of a percent of it, such as `50 bp`, or an amount. Without it, any change counts. */
    by?: string;
    /** How often it is read. */
    every: string;
    /** The run comes after so long in any case. */
    heartbeat?: string;
};
export type VerifiedFactResponse = {
    block: string;
    account: Hex | null;
    /** A field's name, or a slot. */
    name: string;
    value: Hex;
};
export type WarningResponse = {
    sentence: string;
    /** The path of the value in the request. */
    path: string;
};
export type WebhookBody = {
    /** The address that is called when the batch has ended. */
    url: string;
    /** Headers to send along, such as Authorization. */
    headers?: {
        readonly [name: string]: string;
    };
};
export type WebhookDeliveryResponse = {
    event: string;
    corrects: string | null;
    batchQueryId: string | null;
    /** The feed that was paused. */
    feed: string | null;
    url: string;
    state: WebhookDeliveryState;
    created: string;
    delivered: string | null;
    nextAttempt: string | null;
    /** The newest first. */
    attempts: ReadonlyArray<AttemptResponse>;
};
export type WebhookDeliveryState = "PENDING" | "DELIVERED" | "GIVEN_UP";
export type WebhookEvent = {
    event: string;
    /** The earlier event of the batch, whose values or deliveries a reorg changed. */
    corrects: string | null;
    batchQueryId: string;
    queryStatus: "DONE" | "REJECTED";
    destinationChainId: string;
    error: EventFailure | null;
    facts: ReadonlyArray<EventFacts>;
    /** If the batch has more queries: the `fromQuery` with which GET /batch-query-status lists the rest. */
    nextQuery: number | null;
    /** Its deliveries, once all have ended. Left out if it has none. */
    deliveries?: ReadonlyArray<EventDelivery>;
};
export type WithdrawalFact = {
    blockNumber: bigint;
    position: bigint;
    withdrawalIndex: bigint;
    validatorIndex: bigint;
    recipient: Hex;
    amount: bigint;
};
export type WitnessListResponse = {
    destinationChainId: string;
    warnings: ReadonlyArray<WarningResponse>;
    /** One for each origin chain. */
    witnesses: ReadonlyArray<WitnessResponse>;
};
export type WitnessResponse = {
    originChainId: string;
    registry: Hex;
    /** The bytes to pass to the registry's `verify`; `0x` if `facts` is empty. */
    proof: Hex;
    /** The requested facts in the order of `verify`: fields of accounts, then slots, then header fields. Accounts and slots are in the order of their hashes, so find a fact by its block, account and name. */
    facts: ReadonlyArray<VerifiedFactResponse>;
    /** Facts about the content of blocks, for the events verifier. */
    events: ReadonlyArray<EventWitnessResponse>;
    /** Gas of transactions that only verify these proofs. */
    gas: string;
    /** The last block of the destination in which `verify` accepts the proof; null if it stays valid. */
    validUntil: string | null;
};
export declare const version: "0.1.0";
export declare const accountFields: {
    readonly NONCE: 0;
    readonly BALANCE: 1;
    readonly STORAGE_ROOT: 2;
    readonly CODE_HASH: 3;
};
export declare const headerFields: {
    readonly PARENT_HASH: 0;
    readonly UNCLES_HASH: 1;
    readonly COINBASE: 2;
    readonly PROPOSER: 2;
    readonly STATE_ROOT: 3;
    readonly TRANSACTIONS_ROOT: 4;
    readonly RECEIPTS_ROOT: 5;
    readonly LOGS_BLOOM: 6;
    readonly DIFFICULTY: 7;
    readonly BLOCK_NUMBER: 8;
    readonly GAS_LIMIT: 9;
    readonly GAS_USED: 10;
    readonly TIMESTAMP: 11;
    readonly EXTRA_DATA: 12;
    readonly MIX_HASH: 13;
    readonly NONCE: 14;
    readonly BASE_FEE_PER_GAS: 15;
    readonly WITHDRAWALS_ROOT: 16;
    readonly BLOB_GAS_USED: 17;
    readonly EXCESS_BLOB_GAS: 18;
    readonly PARENT_BEACON_BLOCK_ROOT: 19;
    readonly REQUESTS_HASH: 20;
};
export declare const factsRegistryAbi: readonly [{
    readonly inputs: readonly [{
        readonly name: "account";
        readonly type: "address";
    }, {
        readonly name: "blockNumber";
        readonly type: "uint256";
    }];
    readonly name: "AccountContradicted";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "account";
        readonly type: "address";
    }, {
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "field";
        readonly type: "uint8";
    }];
    readonly name: "AccountFieldNotProven";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "blockHash";
        readonly type: "bytes32";
    }];
    readonly name: "AnotherBlockAccumulated";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "timestamp";
        readonly type: "uint256";
    }];
    readonly name: "BeyondHorizon";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "blockHash";
        readonly type: "bytes32";
    }, {
        readonly name: "stateRoot";
        readonly type: "bytes32";
    }];
    readonly name: "BlockNotAccumulated";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "blockHash";
        readonly type: "bytes32";
    }];
    readonly name: "BlockNotKnown";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "depth";
        readonly type: "uint256";
    }, {
        readonly name: "last";
        readonly type: "uint256";
    }];
    readonly name: "ChainWithoutNodes";
    readonly type: "error";
}, {
    readonly inputs: readonly [];
    readonly name: "EvidenceMalformed";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "key";
        readonly type: "bytes32";
    }];
    readonly name: "FactContradicted";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "field";
        readonly type: "uint8";
    }];
    readonly name: "HeaderFieldNotProven";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "position";
        readonly type: "uint256";
    }];
    readonly name: "HeaderMalformed";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }];
    readonly name: "HopMalformed";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "slot";
        readonly type: "uint256";
    }];
    readonly name: "HopToNothing";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "index";
        readonly type: "uint256";
    }];
    readonly name: "KeyNotAbsent";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "index";
        readonly type: "uint256";
    }];
    readonly name: "KeysNotAscending";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "position";
        readonly type: "uint256";
    }];
    readonly name: "NoHeader";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }];
    readonly name: "NoParentProvided";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "index";
        readonly type: "uint256";
    }];
    readonly name: "NoSuchKey";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "first";
        readonly type: "uint256";
    }, {
        readonly name: "end";
        readonly type: "uint256";
    }];
    readonly name: "NotAlone";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "position";
        readonly type: "uint256";
    }];
    readonly name: "NotEmbedded";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "position";
        readonly type: "uint256";
    }, {
        readonly name: "length";
        readonly type: "uint256";
    }];
    readonly name: "NumberTooLong";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "depth";
        readonly type: "uint256";
    }];
    readonly name: "PathMissing";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "depth";
        readonly type: "uint256";
    }, {
        readonly name: "nibbles";
        readonly type: "uint256";
    }];
    readonly name: "PathTooLong";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "end";
        readonly type: "uint256";
    }, {
        readonly name: "expected";
        readonly type: "uint256";
    }];
    readonly name: "ProofEndMismatch";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }];
    readonly name: "StateNotContradicted";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "account";
        readonly type: "address";
    }, {
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "slot";
        readonly type: "bytes32";
    }];
    readonly name: "StorageSlotNotProven";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "timestamp";
        readonly type: "uint256";
    }];
    readonly name: "TimestampNotProven";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "timestamp";
        readonly type: "uint256";
    }, {
        readonly name: "from";
        readonly type: "uint256";
    }, {
        readonly name: "to";
        readonly type: "uint256";
    }];
    readonly name: "TimestampOutside";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "most";
        readonly type: "uint256";
    }];
    readonly name: "TooManyLevels";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "kind";
        readonly type: "uint256";
    }, {
        readonly name: "position";
        readonly type: "uint256";
    }];
    readonly name: "UnknownNode";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "kind";
        readonly type: "uint256";
    }, {
        readonly name: "position";
        readonly type: "uint256";
    }];
    readonly name: "UnknownSection";
    readonly type: "error";
}, {
    readonly anonymous: false;
    readonly inputs: readonly [{
        readonly indexed: true;
        readonly name: "account";
        readonly type: "address";
    }, {
        readonly indexed: true;
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly indexed: false;
        readonly name: "fields";
        readonly type: "uint8";
    }];
    readonly name: "AccountProven";
    readonly type: "event";
}, {
    readonly anonymous: false;
    readonly inputs: readonly [{
        readonly indexed: true;
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly indexed: false;
        readonly name: "blockHash";
        readonly type: "bytes32";
    }];
    readonly name: "HeaderAccumulated";
    readonly type: "event";
}, {
    readonly anonymous: false;
    readonly inputs: readonly [{
        readonly indexed: true;
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly indexed: true;
        readonly name: "field";
        readonly type: "uint8";
    }, {
        readonly indexed: false;
        readonly name: "value";
        readonly type: "bytes32";
    }];
    readonly name: "HeaderFieldProven";
    readonly type: "event";
}, {
    readonly anonymous: false;
    readonly inputs: readonly [{
        readonly indexed: true;
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly indexed: false;
        readonly name: "timestamp";
        readonly type: "uint256";
    }];
    readonly name: "HorizonLowered";
    readonly type: "event";
}, {
    readonly anonymous: false;
    readonly inputs: readonly [{
        readonly indexed: true;
        readonly name: "account";
        readonly type: "address";
    }, {
        readonly indexed: true;
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly indexed: false;
        readonly name: "slot";
        readonly type: "bytes32";
    }, {
        readonly indexed: false;
        readonly name: "value";
        readonly type: "bytes32";
    }];
    readonly name: "SlotProven";
    readonly type: "event";
}, {
    readonly anonymous: false;
    readonly inputs: readonly [{
        readonly indexed: true;
        readonly name: "timestamp";
        readonly type: "uint256";
    }, {
        readonly indexed: true;
        readonly name: "blockNumber";
        readonly type: "uint256";
    }];
    readonly name: "TimestampProven";
    readonly type: "event";
}, {
    readonly inputs: readonly [];
    readonly name: "HORIZON";
    readonly outputs: readonly [{
        readonly name: "";
        readonly type: "uint256";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "account";
        readonly type: "address";
    }, {
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "field";
        readonly type: "uint8";
    }];
    readonly name: "accountField";
    readonly outputs: readonly [{
        readonly name: "value";
        readonly type: "bytes32";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "account";
        readonly type: "address";
    }, {
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "slot";
        readonly type: "bytes32";
    }];
    readonly name: "accountStorageSlotValues";
    readonly outputs: readonly [{
        readonly name: "value";
        readonly type: "bytes32";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }];
    readonly name: "accumulated";
    readonly outputs: readonly [{
        readonly name: "";
        readonly type: "bytes32";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "timestamp";
        readonly type: "uint256";
    }];
    readonly name: "blockNumberAt";
    readonly outputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [];
    readonly name: "describe";
    readonly outputs: readonly [{
        readonly name: "";
        readonly type: "bytes32";
    }, {
        readonly name: "";
        readonly type: "uint256";
    }, {
        readonly name: "";
        readonly type: "bytes32";
    }, {
        readonly name: "";
        readonly type: "uint256";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "field";
        readonly type: "uint8";
    }];
    readonly name: "headerField";
    readonly outputs: readonly [{
        readonly name: "value";
        readonly type: "bytes32";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "section";
        readonly type: "bytes";
    }];
    readonly name: "lowerHorizon";
    readonly outputs: readonly [];
    readonly stateMutability: "nonpayable";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "calls";
        readonly type: "bytes[]";
    }];
    readonly name: "multicall";
    readonly outputs: readonly [{
        readonly name: "results";
        readonly type: "bytes[]";
    }];
    readonly stateMutability: "nonpayable";
    readonly type: "function";
}, {
    readonly inputs: readonly [];
    readonly name: "prove";
    readonly outputs: readonly [];
    readonly stateMutability: "nonpayable";
    readonly type: "function";
}, {
    readonly inputs: readonly [];
    readonly name: "stateHorizon";
    readonly outputs: readonly [{
        readonly name: "";
        readonly type: "uint256";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "account";
        readonly type: "address";
    }, {
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "field";
        readonly type: "uint8";
    }];
    readonly name: "tryAccountField";
    readonly outputs: readonly [{
        readonly name: "proven";
        readonly type: "bool";
    }, {
        readonly name: "value";
        readonly type: "bytes32";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "account";
        readonly type: "address";
    }, {
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "slot";
        readonly type: "bytes32";
    }];
    readonly name: "tryAccountStorageSlotValues";
    readonly outputs: readonly [{
        readonly name: "proven";
        readonly type: "bool";
    }, {
        readonly name: "value";
        readonly type: "bytes32";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "timestamp";
        readonly type: "uint256";
    }];
    readonly name: "tryBlockNumberAt";
    readonly outputs: readonly [{
        readonly name: "proven";
        readonly type: "bool";
    }, {
        readonly name: "blockNumber";
        readonly type: "uint256";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "field";
        readonly type: "uint8";
    }];
    readonly name: "tryHeaderField";
    readonly outputs: readonly [{
        readonly name: "proven";
        readonly type: "bool";
    }, {
        readonly name: "value";
        readonly type: "bytes32";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "proof";
        readonly type: "bytes";
    }];
    readonly name: "verify";
    readonly outputs: readonly [{
        readonly components: readonly [{
            readonly components: readonly [{
                readonly name: "account";
                readonly type: "address";
            }, {
                readonly name: "blockNumber";
                readonly type: "uint256";
            }, {
                readonly name: "nonce";
                readonly type: "uint64";
            }, {
                readonly name: "balance";
                readonly type: "uint256";
            }, {
                readonly name: "storageRoot";
                readonly type: "bytes32";
            }, {
                readonly name: "codeHash";
                readonly type: "bytes32";
            }];
            readonly name: "accounts";
            readonly type: "tuple[]";
        }, {
            readonly components: readonly [{
                readonly name: "account";
                readonly type: "address";
            }, {
                readonly name: "blockNumber";
                readonly type: "uint256";
            }, {
                readonly name: "slot";
                readonly type: "bytes32";
            }, {
                readonly name: "value";
                readonly type: "bytes32";
            }];
            readonly name: "slots";
            readonly type: "tuple[]";
        }, {
            readonly components: readonly [{
                readonly name: "blockNumber";
                readonly type: "uint256";
            }, {
                readonly name: "field";
                readonly type: "uint8";
            }, {
                readonly name: "value";
                readonly type: "bytes32";
            }];
            readonly name: "headerFields";
            readonly type: "tuple[]";
        }, {
            readonly components: readonly [{
                readonly name: "timestamp";
                readonly type: "uint256";
            }, {
                readonly name: "blockNumber";
                readonly type: "uint256";
            }];
            readonly name: "timestamps";
            readonly type: "tuple[]";
        }];
        readonly name: "";
        readonly type: "tuple";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}];
export declare const eventsVerifierAbi: readonly [{
    readonly inputs: readonly [{
        readonly name: "registry";
        readonly type: "address";
    }];
    readonly stateMutability: "nonpayable";
    readonly type: "constructor";
}, {
    readonly inputs: readonly [];
    readonly name: "CountsMismatch";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "key";
        readonly type: "bytes32";
    }];
    readonly name: "FactContradicted";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "field";
        readonly type: "uint256";
    }];
    readonly name: "FieldMismatch";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "groups";
        readonly type: "uint256";
    }, {
        readonly name: "fields";
        readonly type: "uint256";
    }];
    readonly name: "GroupsMismatch";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "index";
        readonly type: "uint256";
    }];
    readonly name: "IndexNotAbsent";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "index";
        readonly type: "uint256";
    }];
    readonly name: "IndexesNotAscending";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "index";
        readonly type: "uint256";
    }, {
        readonly name: "logIndex";
        readonly type: "uint256";
    }];
    readonly name: "LogNotAbsent";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "transactionIndex";
        readonly type: "uint256";
    }, {
        readonly name: "logIndex";
        readonly type: "uint256";
    }];
    readonly name: "LogNotProven";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "registry";
        readonly type: "address";
    }];
    readonly name: "NoContract";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "position";
        readonly type: "uint256";
    }];
    readonly name: "NoSuchKey";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "position";
        readonly type: "uint256";
    }];
    readonly name: "NotEmbedded";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "item";
        readonly type: "bytes32";
    }];
    readonly name: "NotSilent";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "position";
        readonly type: "uint256";
    }, {
        readonly name: "length";
        readonly type: "uint256";
    }];
    readonly name: "NumberTooLong";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "depth";
        readonly type: "uint256";
    }, {
        readonly name: "nibbles";
        readonly type: "uint256";
    }];
    readonly name: "PathTooLong";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "transactionIndex";
        readonly type: "uint256";
    }];
    readonly name: "ReceiptNotProven";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "field";
        readonly type: "uint256";
    }, {
        readonly name: "root";
        readonly type: "bytes32";
    }];
    readonly name: "RootMismatch";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "transactionIndex";
        readonly type: "uint256";
    }];
    readonly name: "TransactionNotProven";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "index";
        readonly type: "uint256";
    }, {
        readonly name: "transactionType";
        readonly type: "uint256";
    }];
    readonly name: "TransactionTypeUnknown";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "kind";
        readonly type: "uint256";
    }, {
        readonly name: "position";
        readonly type: "uint256";
    }];
    readonly name: "UnknownNode";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "position";
        readonly type: "uint256";
    }];
    readonly name: "WithdrawalNotProven";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "end";
        readonly type: "uint256";
    }, {
        readonly name: "expected";
        readonly type: "uint256";
    }];
    readonly name: "WitnessEndMismatch";
    readonly type: "error";
}, {
    readonly anonymous: false;
    readonly inputs: readonly [{
        readonly indexed: true;
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly indexed: true;
        readonly name: "item";
        readonly type: "bytes32";
    }, {
        readonly indexed: false;
        readonly name: "isTopic";
        readonly type: "bool";
    }];
    readonly name: "BlockSilent";
    readonly type: "event";
}, {
    readonly anonymous: false;
    readonly inputs: readonly [{
        readonly indexed: true;
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly indexed: true;
        readonly name: "field";
        readonly type: "uint8";
    }, {
        readonly indexed: false;
        readonly name: "index";
        readonly type: "uint256";
    }];
    readonly name: "IndexAbsent";
    readonly type: "event";
}, {
    readonly anonymous: false;
    readonly inputs: readonly [{
        readonly indexed: true;
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly indexed: true;
        readonly name: "transactionIndex";
        readonly type: "uint256";
    }, {
        readonly indexed: true;
        readonly name: "emitter";
        readonly type: "address";
    }, {
        readonly indexed: false;
        readonly name: "topicMask";
        readonly type: "uint8";
    }, {
        readonly indexed: false;
        readonly name: "topics";
        readonly type: "bytes32[]";
    }];
    readonly name: "LogAbsent";
    readonly type: "event";
}, {
    readonly anonymous: false;
    readonly inputs: readonly [{
        readonly indexed: true;
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly indexed: true;
        readonly name: "transactionIndex";
        readonly type: "uint256";
    }, {
        readonly indexed: true;
        readonly name: "emitter";
        readonly type: "address";
    }, {
        readonly indexed: false;
        readonly name: "logIndex";
        readonly type: "uint256";
    }, {
        readonly indexed: false;
        readonly name: "logHash";
        readonly type: "bytes32";
    }];
    readonly name: "LogProven";
    readonly type: "event";
}, {
    readonly anonymous: false;
    readonly inputs: readonly [{
        readonly indexed: true;
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly indexed: true;
        readonly name: "transactionIndex";
        readonly type: "uint256";
    }, {
        readonly indexed: false;
        readonly name: "status";
        readonly type: "uint8";
    }, {
        readonly indexed: false;
        readonly name: "transactionType";
        readonly type: "uint8";
    }, {
        readonly indexed: false;
        readonly name: "cumulativeGasUsed";
        readonly type: "uint64";
    }, {
        readonly indexed: false;
        readonly name: "logCount";
        readonly type: "uint16";
    }];
    readonly name: "ReceiptProven";
    readonly type: "event";
}, {
    readonly anonymous: false;
    readonly inputs: readonly [{
        readonly indexed: true;
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly indexed: true;
        readonly name: "transactionIndex";
        readonly type: "uint256";
    }, {
        readonly indexed: true;
        readonly name: "transactionHash";
        readonly type: "bytes32";
    }, {
        readonly indexed: false;
        readonly name: "transactionType";
        readonly type: "uint8";
    }];
    readonly name: "TransactionProven";
    readonly type: "event";
}, {
    readonly anonymous: false;
    readonly inputs: readonly [{
        readonly indexed: true;
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly indexed: true;
        readonly name: "position";
        readonly type: "uint256";
    }, {
        readonly indexed: true;
        readonly name: "recipient";
        readonly type: "address";
    }, {
        readonly indexed: false;
        readonly name: "withdrawalIndex";
        readonly type: "uint64";
    }, {
        readonly indexed: false;
        readonly name: "validatorIndex";
        readonly type: "uint64";
    }, {
        readonly indexed: false;
        readonly name: "amount";
        readonly type: "uint64";
    }];
    readonly name: "WithdrawalProven";
    readonly type: "event";
}, {
    readonly inputs: readonly [];
    readonly name: "REGISTRY";
    readonly outputs: readonly [{
        readonly name: "";
        readonly type: "address";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "isTopic";
        readonly type: "bool";
    }, {
        readonly name: "item";
        readonly type: "bytes32";
    }];
    readonly name: "isBlockSilent";
    readonly outputs: readonly [{
        readonly name: "silent";
        readonly type: "bool";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "field";
        readonly type: "uint8";
    }, {
        readonly name: "index";
        readonly type: "uint256";
    }];
    readonly name: "isIndexAbsent";
    readonly outputs: readonly [{
        readonly name: "absent";
        readonly type: "bool";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "transactionIndex";
        readonly type: "uint256";
    }, {
        readonly name: "logIndex";
        readonly type: "uint256";
    }, {
        readonly name: "emitter";
        readonly type: "address";
    }, {
        readonly name: "topics";
        readonly type: "bytes32[]";
    }, {
        readonly name: "data";
        readonly type: "bytes";
    }];
    readonly name: "isLog";
    readonly outputs: readonly [{
        readonly name: "proven";
        readonly type: "bool";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "transactionIndex";
        readonly type: "uint256";
    }, {
        readonly name: "emitter";
        readonly type: "address";
    }, {
        readonly name: "topicMask";
        readonly type: "uint8";
    }, {
        readonly name: "topics";
        readonly type: "bytes32[]";
    }];
    readonly name: "isLogAbsent";
    readonly outputs: readonly [{
        readonly name: "absent";
        readonly type: "bool";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "transactionIndex";
        readonly type: "uint256";
    }, {
        readonly name: "logIndex";
        readonly type: "uint256";
    }];
    readonly name: "logHash";
    readonly outputs: readonly [{
        readonly name: "hash";
        readonly type: "bytes32";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "section";
        readonly type: "bytes";
    }, {
        readonly name: "witness";
        readonly type: "bytes";
    }];
    readonly name: "prove";
    readonly outputs: readonly [];
    readonly stateMutability: "nonpayable";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "transactionIndex";
        readonly type: "uint256";
    }];
    readonly name: "receiptOf";
    readonly outputs: readonly [{
        readonly components: readonly [{
            readonly name: "blockNumber";
            readonly type: "uint256";
        }, {
            readonly name: "transactionIndex";
            readonly type: "uint256";
        }, {
            readonly name: "status";
            readonly type: "uint8";
        }, {
            readonly name: "transactionType";
            readonly type: "uint8";
        }, {
            readonly name: "cumulativeGasUsed";
            readonly type: "uint64";
        }, {
            readonly name: "logCount";
            readonly type: "uint16";
        }];
        readonly name: "receipt";
        readonly type: "tuple";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "transactionIndex";
        readonly type: "uint256";
    }];
    readonly name: "transactionHash";
    readonly outputs: readonly [{
        readonly name: "hash";
        readonly type: "bytes32";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "transactionIndex";
        readonly type: "uint256";
    }, {
        readonly name: "logIndex";
        readonly type: "uint256";
    }];
    readonly name: "tryLogHash";
    readonly outputs: readonly [{
        readonly name: "proven";
        readonly type: "bool";
    }, {
        readonly name: "hash";
        readonly type: "bytes32";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "transactionIndex";
        readonly type: "uint256";
    }];
    readonly name: "tryReceiptOf";
    readonly outputs: readonly [{
        readonly name: "proven";
        readonly type: "bool";
    }, {
        readonly components: readonly [{
            readonly name: "blockNumber";
            readonly type: "uint256";
        }, {
            readonly name: "transactionIndex";
            readonly type: "uint256";
        }, {
            readonly name: "status";
            readonly type: "uint8";
        }, {
            readonly name: "transactionType";
            readonly type: "uint8";
        }, {
            readonly name: "cumulativeGasUsed";
            readonly type: "uint64";
        }, {
            readonly name: "logCount";
            readonly type: "uint16";
        }];
        readonly name: "receipt";
        readonly type: "tuple";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "transactionIndex";
        readonly type: "uint256";
    }];
    readonly name: "tryTransactionHash";
    readonly outputs: readonly [{
        readonly name: "proven";
        readonly type: "bool";
    }, {
        readonly name: "hash";
        readonly type: "bytes32";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "position";
        readonly type: "uint256";
    }];
    readonly name: "tryWithdrawalOf";
    readonly outputs: readonly [{
        readonly name: "proven";
        readonly type: "bool";
    }, {
        readonly components: readonly [{
            readonly name: "blockNumber";
            readonly type: "uint256";
        }, {
            readonly name: "position";
            readonly type: "uint256";
        }, {
            readonly name: "withdrawalIndex";
            readonly type: "uint64";
        }, {
            readonly name: "validatorIndex";
            readonly type: "uint64";
        }, {
            readonly name: "recipient";
            readonly type: "address";
        }, {
            readonly name: "amount";
            readonly type: "uint64";
        }];
        readonly name: "withdrawal";
        readonly type: "tuple";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "section";
        readonly type: "bytes";
    }, {
        readonly name: "witness";
        readonly type: "bytes";
    }];
    readonly name: "verify";
    readonly outputs: readonly [{
        readonly components: readonly [{
            readonly components: readonly [{
                readonly name: "blockNumber";
                readonly type: "uint256";
            }, {
                readonly name: "transactionIndex";
                readonly type: "uint256";
            }, {
                readonly name: "logIndex";
                readonly type: "uint256";
            }, {
                readonly name: "emitter";
                readonly type: "address";
            }, {
                readonly name: "topics";
                readonly type: "bytes32[]";
            }, {
                readonly name: "data";
                readonly type: "bytes";
            }, {
                readonly name: "logHash";
                readonly type: "bytes32";
            }];
            readonly name: "logs";
            readonly type: "tuple[]";
        }, {
            readonly components: readonly [{
                readonly name: "blockNumber";
                readonly type: "uint256";
            }, {
                readonly name: "transactionIndex";
                readonly type: "uint256";
            }, {
                readonly name: "status";
                readonly type: "uint8";
            }, {
                readonly name: "transactionType";
                readonly type: "uint8";
            }, {
                readonly name: "cumulativeGasUsed";
                readonly type: "uint64";
            }, {
                readonly name: "logCount";
                readonly type: "uint16";
            }];
            readonly name: "receipts";
            readonly type: "tuple[]";
        }, {
            readonly components: readonly [{
                readonly name: "blockNumber";
                readonly type: "uint256";
            }, {
                readonly name: "transactionIndex";
                readonly type: "uint256";
            }, {
                readonly name: "transactionType";
                readonly type: "uint8";
            }, {
                readonly name: "transactionHash";
                readonly type: "bytes32";
            }];
            readonly name: "transactions";
            readonly type: "tuple[]";
        }, {
            readonly components: readonly [{
                readonly name: "blockNumber";
                readonly type: "uint256";
            }, {
                readonly name: "position";
                readonly type: "uint256";
            }, {
                readonly name: "withdrawalIndex";
                readonly type: "uint64";
            }, {
                readonly name: "validatorIndex";
                readonly type: "uint64";
            }, {
                readonly name: "recipient";
                readonly type: "address";
            }, {
                readonly name: "amount";
                readonly type: "uint64";
            }];
            readonly name: "withdrawals";
            readonly type: "tuple[]";
        }, {
            readonly components: readonly [{
                readonly name: "blockNumber";
                readonly type: "uint256";
            }, {
                readonly name: "field";
                readonly type: "uint8";
            }, {
                readonly name: "index";
                readonly type: "uint256";
            }];
            readonly name: "absentIndexes";
            readonly type: "tuple[]";
        }, {
            readonly components: readonly [{
                readonly name: "blockNumber";
                readonly type: "uint256";
            }, {
                readonly name: "transactionIndex";
                readonly type: "uint256";
            }, {
                readonly name: "emitter";
                readonly type: "address";
            }, {
                readonly name: "topicMask";
                readonly type: "uint8";
            }, {
                readonly name: "topics";
                readonly type: "bytes32[]";
            }];
            readonly name: "absentLogs";
            readonly type: "tuple[]";
        }, {
            readonly components: readonly [{
                readonly name: "blockNumber";
                readonly type: "uint256";
            }, {
                readonly name: "isTopic";
                readonly type: "bool";
            }, {
                readonly name: "item";
                readonly type: "bytes32";
            }];
            readonly name: "silentBlocks";
            readonly type: "tuple[]";
        }];
        readonly name: "";
        readonly type: "tuple";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "position";
        readonly type: "uint256";
    }];
    readonly name: "withdrawalOf";
    readonly outputs: readonly [{
        readonly components: readonly [{
            readonly name: "blockNumber";
            readonly type: "uint256";
        }, {
            readonly name: "position";
            readonly type: "uint256";
        }, {
            readonly name: "withdrawalIndex";
            readonly type: "uint64";
        }, {
            readonly name: "validatorIndex";
            readonly type: "uint64";
        }, {
            readonly name: "recipient";
            readonly type: "address";
        }, {
            readonly name: "amount";
            readonly type: "uint64";
        }];
        readonly name: "withdrawal";
        readonly type: "tuple";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}];
export declare const factsLookupAbi: readonly [{
    readonly inputs: readonly [{
        readonly name: "registry";
        readonly type: "address";
    }, {
        readonly name: "verifier";
        readonly type: "address";
    }, {
        readonly name: "urls_";
        readonly type: "string[]";
    }];
    readonly stateMutability: "nonpayable";
    readonly type: "constructor";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "age";
        readonly type: "uint256";
    }];
    readonly name: "BlockTooOld";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "target";
        readonly type: "address";
    }, {
        readonly name: "reason";
        readonly type: "bytes";
    }];
    readonly name: "CallReverted";
    readonly type: "error";
}, {
    readonly inputs: readonly [];
    readonly name: "FactMismatch";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "field";
        readonly type: "uint8";
    }];
    readonly name: "FieldUnknown";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "kind";
        readonly type: "uint8";
    }];
    readonly name: "KindUnknown";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "registry";
        readonly type: "address";
    }];
    readonly name: "NoContract";
    readonly type: "error";
}, {
    readonly inputs: readonly [];
    readonly name: "NoVerifier";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "sender";
        readonly type: "address";
    }, {
        readonly name: "urls";
        readonly type: "string[]";
    }, {
        readonly name: "callData";
        readonly type: "bytes";
    }, {
        readonly name: "callbackFunction";
        readonly type: "bytes4";
    }, {
        readonly name: "extraData";
        readonly type: "bytes";
    }];
    readonly name: "OffchainLookup";
    readonly type: "error";
}, {
    readonly inputs: readonly [{
        readonly name: "verifier";
        readonly type: "address";
    }];
    readonly name: "RegistryMismatch";
    readonly type: "error";
}, {
    readonly inputs: readonly [];
    readonly name: "REGISTRY";
    readonly outputs: readonly [{
        readonly name: "";
        readonly type: "address";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [];
    readonly name: "VERIFIER";
    readonly outputs: readonly [{
        readonly name: "";
        readonly type: "address";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "response";
        readonly type: "bytes";
    }, {
        readonly name: "extraData";
        readonly type: "bytes";
    }];
    readonly name: "onProof";
    readonly outputs: readonly [{
        readonly name: "value";
        readonly type: "bytes32";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "response";
        readonly type: "bytes";
    }, {
        readonly name: "extraData";
        readonly type: "bytes";
    }];
    readonly name: "onRecentProof";
    readonly outputs: readonly [{
        readonly name: "value";
        readonly type: "bytes32";
    }, {
        readonly name: "blockNumber";
        readonly type: "uint256";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "account";
        readonly type: "address";
    }, {
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "field";
        readonly type: "uint8";
    }, {
        readonly name: "gateways";
        readonly type: "string[]";
    }];
    readonly name: "read";
    readonly outputs: readonly [{
        readonly name: "";
        readonly type: "bytes32";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "field";
        readonly type: "uint8";
    }, {
        readonly name: "gateways";
        readonly type: "string[]";
    }];
    readonly name: "readHeader";
    readonly outputs: readonly [{
        readonly name: "";
        readonly type: "bytes32";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "field";
        readonly type: "uint8";
    }, {
        readonly name: "maxAge";
        readonly type: "uint256";
    }, {
        readonly name: "gateways";
        readonly type: "string[]";
    }];
    readonly name: "readHeaderRecent";
    readonly outputs: readonly [{
        readonly name: "";
        readonly type: "bytes32";
    }, {
        readonly name: "";
        readonly type: "uint256";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "transactionIndex";
        readonly type: "uint256";
    }, {
        readonly name: "logIndex";
        readonly type: "uint256";
    }, {
        readonly name: "gateways";
        readonly type: "string[]";
    }];
    readonly name: "readLog";
    readonly outputs: readonly [{
        readonly name: "";
        readonly type: "bytes32";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "account";
        readonly type: "address";
    }, {
        readonly name: "field";
        readonly type: "uint8";
    }, {
        readonly name: "maxAge";
        readonly type: "uint256";
    }, {
        readonly name: "gateways";
        readonly type: "string[]";
    }];
    readonly name: "readRecent";
    readonly outputs: readonly [{
        readonly name: "";
        readonly type: "bytes32";
    }, {
        readonly name: "";
        readonly type: "uint256";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "account";
        readonly type: "address";
    }, {
        readonly name: "blockNumber";
        readonly type: "uint256";
    }, {
        readonly name: "slot";
        readonly type: "bytes32";
    }, {
        readonly name: "gateways";
        readonly type: "string[]";
    }];
    readonly name: "readSlot";
    readonly outputs: readonly [{
        readonly name: "";
        readonly type: "bytes32";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [{
        readonly name: "account";
        readonly type: "address";
    }, {
        readonly name: "slot";
        readonly type: "bytes32";
    }, {
        readonly name: "maxAge";
        readonly type: "uint256";
    }, {
        readonly name: "gateways";
        readonly type: "string[]";
    }];
    readonly name: "readSlotRecent";
    readonly outputs: readonly [{
        readonly name: "";
        readonly type: "bytes32";
    }, {
        readonly name: "";
        readonly type: "uint256";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}, {
    readonly inputs: readonly [];
    readonly name: "urls";
    readonly outputs: readonly [{
        readonly name: "";
        readonly type: "string[]";
    }];
    readonly stateMutability: "view";
    readonly type: "function";
}];
export declare const registryContracts: {
    readonly native: "NativeRegistry";
    readonly optimism: "OptimismRegistry";
    readonly output: "OutputRegistry";
    readonly arbitrum: "ArbitrumRegistry";
    readonly beacon: "BeaconRegistry";
    readonly attested: "AttestedRegistry";
};
export declare const codeHashes: {
    readonly NativeRegistry: "0x1b34d37b5c7469e5d63f5274f069cfd0d173d66306d34cb4c1aea36ce628bf8f";
    readonly OptimismRegistry: "0x78de8e6e759ff91f89fdd58072bf39dc42d6b10c7dda19db3646d041e1642309";
    readonly OutputRegistry: "0x651a862b6dac57998d97361c8fbcc88c90a114a33c731b4713986843e5647d04";
    readonly ArbitrumRegistry: "0xe6914700e87487b9245fe94c3cb080e119332159786590fcc6bb93cf48ea6c9c";
    readonly BeaconRegistry: "0x01ff1f6a227c8d31c6b6ec8523318f75e8ad9318150b4a3144a4763e65d861f1";
    readonly AttestedRegistry: "0x76704111952143ac3ec71b1594806edecf00a3674b023c931ce574400f0496e1";
    readonly EventsVerifier: "0x95c30a03e8b68d30920173b46d11ff711864b27499d0b6873fa5234d0e0de1b4";
    readonly FactsLookup: "0x3b555f3db9229413fc2e17ce2363768e54a4ff3e9506a9b73ae6822b43564630";
};
export declare const beaconChains: {
    readonly "1": {
        readonly genesis: readonly [1606824023, 12, "0x4b363db94e286120d76eb905340fdd4e54bfe9f06bf33ff6cf5ad27f511bfe95"];
        readonly forks: readonly [readonly [8626176, "0x04000000", 105, 55, 54, 812], readonly [11649024, "0x05000000", 169, 87, 86, 812], readonly [13164544, "0x06000000", 169, 87, 86, 812]];
    };
    readonly "100": {
        readonly genesis: readonly [1638993340, 5, "0xf5dcb5564e829aab27264b9becd5dfaa017085611224cb3036f573368dbb9d47"];
        readonly forks: readonly [readonly [14237696, "0x04000064", 105, 55, 54, 812], readonly [21405696, "0x05000064", 169, 87, 86, 812], readonly [27435008, "0x06000064", 169, 87, 86, 812]];
    };
    readonly "560048": {
        readonly genesis: readonly [1742213400, 12, "0x212f13fc4df078b6cb7db228f1c8307566dcecf900867401a92023d7ba99cb5f"];
        readonly forks: readonly [readonly [0, "0x50000910", 105, 55, 54, 812], readonly [65536, "0x60000910", 169, 87, 86, 812], readonly [1622016, "0x70000910", 169, 87, 86, 812]];
    };
    readonly "11155111": {
        readonly genesis: readonly [1655733600, 12, "0xd8ea171f3c94aea21ebc42a1ed61052acf3f9209c00e4efbaaddac09ed9b8078"];
        readonly forks: readonly [readonly [4243456, "0x90000073", 105, 55, 54, 812], readonly [7118848, "0x90000074", 169, 87, 86, 812], readonly [8724480, "0x90000075", 169, 87, 86, 812], readonly [11296768, "0x90000076", 735, 2946, 2945, 2856]];
    };
};
export declare const maxCommitteeAge: 604800;
export declare const create2Prefix: "0xff4e59b44847b379578588920ca78fbf26c0b4956c5461636974757320726567697374727900000000000000000000000000000000";
/** Bytes in hex, as viem and ethers write them. */
export type Hex = `0x${string}`;
/** What not all errors have: `path` is of an invalid value, `step` of a rejection, and `retryAfter` in seconds. */
export interface ErrorDetails {
    code?: string;
    path?: string;
    retryable?: boolean;
    httpStatus?: number;
    retryAfter?: number | undefined;
    batchId?: string;
    step?: string;
}
/** Base of all errors: a sentence for people; for programs a code, and whether trying again can help. */
export declare abstract class TacitusError extends Error {
    readonly details: ErrorDetails;
    abstract readonly name: string;
    readonly code: string;
    readonly retryable: boolean;
    constructor(sentence: string, details?: ErrorDetails, cause?: unknown);
}
/** The server refused the request; the codes are listed in its /docs/status. */
export declare class RequestRefusedError extends TacitusError {
    readonly name = "RequestRefusedError";
    readonly code: ErrorResponse["code"];
}
/** The batch ended without being proven. If `retryable`, submit it again. */
export declare class BatchRejectedError extends TacitusError {
    readonly name = "BatchRejectedError";
}
/** The batch is DONE, but one of its deliveries has FAILED; `code` says why. */
export declare class DeliveryFailedError extends TacitusError {
    readonly name = "DeliveryFailedError";
}
/** The batch has no facts yet. */
export declare class BatchNotDoneError extends TacitusError {
    readonly name = "BatchNotDoneError";
    readonly code = "not_done";
    readonly retryable = true;
}
/** A reorg removed facts of the DONE batch, and they could not be proven again. */
export declare class FactsLostError extends TacitusError {
    readonly name = "FactsLostError";
    readonly code = "facts_lost";
}
/** The server did not send a complete response. */
export declare class ServerUnreachableError extends TacitusError {
    readonly name = "ServerUnreachableError";
    readonly code = "unreachable";
    readonly retryable = true;
}
/** The server did not answer, and may have carried out the request; it is one that is not repeated. */
export declare class ResponseLostError extends TacitusError {
    readonly name = "ResponseLostError";
    readonly code = "response_lost";
}
/** The batch did not end within the timeout; the server continues to work on it. */
export declare class WaitTimeoutError extends TacitusError {
    readonly name = "WaitTimeoutError";
    readonly code = "timed_out";
    readonly retryable = true;
}
/** The response is not one of a Tacitus server, or of a registry. */
export declare class UnreadableResponseError extends TacitusError {
    readonly name = "UnreadableResponseError";
    readonly code = "unreadable_response";
}
/** The webhook call is not one of the server, or it is too old. */
export declare class WebhookNotGenuineError extends TacitusError {
    readonly name = "WebhookNotGenuineError";
    readonly code = "webhook_not_genuine";
}
/** An argument is invalid; nothing was sent. */
export declare class UsageError extends TacitusError {
    readonly name = "UsageError";
    readonly code = "invalid_usage";
}
/** Every error of this client; `name` tells them apart in a `switch`. */
export type AnyTacitusError = RequestRefusedError | BatchRejectedError | DeliveryFailedError | BatchNotDoneError | FactsLostError | ServerUnreachableError | ResponseLostError | WaitTimeoutError | UnreadableResponseError | WebhookNotGenuineError | UsageError;
/** Whether the error is one of this client, and not an abort or a bug. */
export declare function isTacitusError(error: unknown): error is AnyTacitusError;
/** Ethereum's hash. Web Crypto has no SHA-3, whose padding differs anyway. */
export declare function keccak256(content: Uint8Array): Uint8Array;
/**
 * Where Solidity stores a variable: its slot, and its lowest byte in the slot. Each method steps into it:
 * the position of `points[4].y` is `new Position(7).dynamicArrayElement(4, 64).member(1)`.
 */
export declare class Position {
    #private;
    readonly byteOffset: number;
    readonly slot: bigint;
    constructor(slot: bigint | number, byteOffset?: number);
    /** The slot as 32 bytes in hex. */
    get word(): Hex;
    /** A struct's member, at its offsets in the compiler's layout. */
    member(slotOffset: bigint | number, byteOffset?: number): Position;
    /** A mapping's value for a key encoded by `mappingKey`. */
    mapping(key: Uint8Array): Position;
    /**
     * An element of `T[n]`, where a T takes `size` bytes. Elements of at most half a word share slots; none
     * spans two. A longer T, and any struct or array, takes whole slots: its size is a multiple of 32.
     */
    fixedArrayElement(index: bigint | number, size?: number): Position;
    /** An element of `T[]`; the array's own slot holds its length. */
    dynamicArrayElement(index: bigint | number, size?: number): Position;
    /** Where the elements of a dynamic array begin, or the data of a `bytes` or `string` over 31 bytes. */
    dynamicData(): Position;
}
/** Encode a mapping's key as Solidity hashes it; `kind` is its type, such as uint64. */
export declare function mappingKey(kind: string, key: string | bigint | number | boolean): Uint8Array;
/** A variable as a storage layout describes it; its size is in bytes. */
export interface Variable {
    position: Position;
    size: number;
    type: string;
}
/** Find a variable such as `points[4].y` in solc's storageLayout. */
export declare function findVariable({ storage, types }: any, expression: string): Variable;
/** A chain in a request: its id, or an alias. In responses an id is always text. */
export type ChainName = bigint | number | string;
/**
 * The facts to prove of a block of the chain `source`: by number, or the last one until `timestamp`. In a feed, `$due`
 * stands for the number or time.
 */
export type BlockQuery = Omit<BlockBody, "accounts"> & {
    source: ChainName;
    /** Addresses, or ENS names; `props` and `slots` are those of each. */
    accounts?: readonly string[];
    props?: AccountBody["props"];
    slots?: readonly (Hex | bigint | number | Position)[];
} & ({
    block: bigint | number | "$due";
    timestamp?: never;
} | {
    timestamp: bigint | number | "$due";
    block?: never;
});
/** An argument of a call: lists for arrays and tuples; a text such as `$block` is filled in when it is known. */
export type Argument = string | bigint | number | boolean | readonly Argument[];
/** A call of a contract on the destination, once the batch is DONE. `unless`: a view that is true if it is not needed. */
export interface Delivery {
    to: Hex;
    function: string;
    args?: readonly Argument[];
    /** The gas that the contract may use. Without it, a trial shows the need, and it gets half as much on top. */
    gas?: bigint | number | string | undefined;
    unless?: {
        function: string;
        args?: readonly Argument[];
    } | undefined;
    /** Errors of the contract, such as `Stale(uint256,uint256)`: a reason then has their names. */
    errors?: readonly string[] | undefined;
}
export interface BatchOptions {
    /** The maximum to spend on the batch, in wei. */
    fee?: bigint | number | string;
    webhook?: WebhookBody | undefined;
    deliver?: readonly Delivery[] | undefined;
}
/** Build a batch for `submit`, `estimate` and `witness`. */
export declare function buildBatch(destination: ChainName, queries: BlockQuery | readonly BlockQuery[], { fee, webhook, deliver }?: BatchOptions): BatchRequest;
export type AccountField = keyof typeof accountFields;
export type HeaderField = keyof typeof headerFields;
declare const NUMERIC_FIELDS: readonly ["NONCE", "BALANCE", "DIFFICULTY", "BLOCK_NUMBER", "GAS_LIMIT", "GAS_USED", "TIMESTAMP", "BASE_FEE_PER_GAS", "BLOB_GAS_USED", "EXCESS_BLOB_GAS"];
/** A bigint for numbers and slots; null for what is a hash, an address or bytes. */
export type NumberOf<Name> = Name extends (typeof NUMERIC_FIELDS)[number] | Hex ? bigint : null;
interface BaseFact {
    /** The source chain's id, as in the API: such as "1". */
    chain: string;
    block: bigint;
    /** Of the block, as requested. */
    selector: string;
    /** The registry on the destination. An event is in the `verifier` beside it. */
    registry: Hex;
    /** As the contract stores it. */
    word: Hex;
}
interface NamedFact<Kind, Name, Account> extends BaseFact {
    kind: Kind;
    name: Name;
    number: NumberOf<Name>;
    account: Account;
    /** The ENS name, if the account was requested by name. */
    ens: string | null;
}
/** A field of an account. */
export type AccountFact = {
    [Name in AccountField]: NamedFact<"account", Name, Hex>;
}[AccountField];
/** A storage slot; its name is 0x and 64 digits. */
export type SlotFact = NamedFact<"slot", Hex, Hex>;
/** A field of a block's header. */
export type HeaderFact = {
    [Name in HeaderField]: NamedFact<"header", Name, null>;
}[HeaderField];
type AbsenceKind = "ABSENT_TRANSACTION" | "ABSENT_WITHDRAWAL" | "ABSENT_LOG" | "SILENT_BLOCK";
/** What is proven of an event, by its kind; of an absence nothing but itself. */
export interface ProvenEvents extends Record<AbsenceKind, {}> {
    LOG: {
        address: Hex;
        topics: readonly Hex[];
        data: Hex;
    };
    RECEIPT: ReceiptFact;
    TRANSACTION: {
        hash: Hex;
    };
    WITHDRAWAL: WithdrawalFact;
}
export type EventKind = keyof ProvenEvents;
/** A fact of one kind of event, or of an absence. */
export interface EventFactOf<Kind extends EventKind> extends BaseFact {
    kind: "event";
    eventKind: Kind;
    verifier: Hex;
    /** Such as `LOG:3:0`. */
    name: `${Kind}:${string}`;
    /** What was proven, in the members that apply to its kind. */
    event: EventResponse;
}
/** A log, receipt, transaction or withdrawal of a block, or that something is not in it. */
export type EventFact = {
    [Kind in EventKind]: EventFactOf<Kind>;
}[EventKind];
/** One proven value. */
export type Fact = AccountFact | SlotFact | HeaderFact | EventFact;
export type FactKind = Fact["kind"];
/** A fact of one kind: of `"slot"`, a SlotFact. */
export type FactOf<Kind extends FactKind> = Extract<Fact, {
    kind: Kind;
}>;
type ViewCall = {
    to: Hex;
    data: Hex;
};
/** A client of the destination chain: one of viem or wagmi, a wallet's provider, or a provider of ethers. */
export type ChainReader = {
    call(transaction: ViewCall): Promise<string | {
        data?: Hex | undefined;
    }>;
} | {
    request(request: {
        method: "eth_call";
        params: [ViewCall, "latest"];
    }): Promise<unknown>;
};
/** What to read from a registry; a fact of another kind than `event` has these members. A header has no account. */
export type FactQuestion<Name> = {
    registry: Hex;
    block: bigint | number;
    account?: Hex | null;
    name: Name;
};
/** What to read from an events verifier; a fact of kind `event` has these members. Only a log needs `event`. */
export type EventQuestion<Kind extends EventKind> = Pick<EventFactOf<Kind>, "verifier" | "name"> & {
    block: bigint | number;
    event?: Partial<EventResponse>;
};
/** Read a fact from its registry, through a client of yours; null if it is not proven there. */
export declare function readFact<const Name extends AccountField | HeaderField | Hex>(client: ChainReader, { registry, block, account, name }: FactQuestion<Name>): Promise<{
    word: Hex;
    number: NumberOf<Name>;
} | null>;
/** Read an event or an absence from its verifier, through a client of yours; null if it is not proven there. */
export declare function readEvent<Kind extends EventKind>(client: ChainReader, { verifier, block, name, event }: EventQuestion<Kind>): Promise<ProvenEvents[Kind] | null>;
/** Headers of a request, as `fetch` and as Node's `http` have them. */
export type WebhookHeaders = Headers | {
    readonly [name: string]: string | readonly string[] | undefined;
};
/**
 * Check the signature of a webhook call, and return its event. Throws WebhookNotGenuineError. `body` must be
 * the bytes or the text as received; `secret` is that of GET /webhook-secret.
 */
export declare function verifyWebhook(body: string | Uint8Array, headers: WebhookHeaders, secret: string): Promise<WebhookEvent>;
export interface CallOptions {
    /** Ends requests and waiting; its reason is thrown. */
    signal?: AbortSignal | undefined;
}
export interface TimeoutOptions extends CallOptions {
    /** Seconds; `Infinity` for no limit. */
    timeout?: number;
}
export interface WaitOptions extends TimeoutOptions {
    /** Whether to wait for the batch's deliveries too; true by default. */
    deliveries?: boolean;
}
export interface PageOptions extends CallOptions {
    /** How many to request at once. */
    limit?: number | undefined;
}
/** A client of one server, with your API key. */
export declare class Tacitus {
    #private;
    readonly url: string;
    /** `timeout` is in seconds, for one complete response. */
    constructor(url: string, key?: string, { timeout }?: {
        timeout?: number;
    });
    /** Submit the batch. All requests with the same `idempotencyKey` store one batch. */
    submit(batch: BatchRequest, { idempotencyKey, signal }?: CallOptions & {
        idempotencyKey?: string | undefined;
    }): Promise<SubmissionResponse>;
    /** Return what a batch would cost now. */
    estimate(batch: EstimateRequest, { signal }?: CallOptions): Promise<EstimateResponse>;
    /** Return a proof for each source chain, to verify in a transaction of your own. */
    witness(batch: EstimateRequest, { signal }?: CallOptions): Promise<readonly WitnessResponse[]>;
    /** Return the batch's status. */
    status(id: string, { signal }?: CallOptions): Promise<StatusResponse>;
    /**
     * Iterate over the batch's statuses as they change, until it is DONE and its deliveries have ended. Throws
     * BatchRejectedError, DeliveryFailedError or WaitTimeoutError.
     */
    progress(id: string, { timeout, deliveries, signal }?: WaitOptions): AsyncGenerator<StatusResponse, void, void>;
    /** Wait until the batch is DONE and its deliveries have ended. Throws as `progress` does. */
    wait(id: string, options?: WaitOptions): Promise<StatusResponse>;
    /**
     * Return the proven facts, or those of one `kind`; a batch with `prove` false has none. Throws BatchNotDoneError,
     * BatchRejectedError or FactsLostError.
     */
    facts<Kind extends FactKind = FactKind>(id: string, { kind, signal }?: CallOptions & {
        kind?: Kind;
    }): Promise<FactOf<Kind>[]>;
    /** Return the file with which anyone can verify the DONE batch without this server; save it as JSON. */
    proof(id: string, { signal }?: CallOptions): Promise<ProofResponse>;
    /** Cancel a batch, if no transaction for it is signed yet. It ends REJECTED. */
    cancel(id: string, { signal }?: CallOptions): Promise<StatusResponse>;
    /** Iterate over your batches, newest first; each page is requested when it is needed. */
    batches(options?: PageOptions & {
        status?: BatchResponse["status"];
    }): AsyncGenerator<BatchResponse, void, void>;
    /** Iterate over the webhooks of your batches, newest first, with their attempts. */
    webhookDeliveries(options?: PageOptions): AsyncGenerator<WebhookDeliveryResponse, void, void>;
    /** Feeds: the same batch is submitted again whenever it is due. */
    readonly feeds: {
        /** Make a feed; its batch may come from `buildBatch`. If the response is lost, it throws a ResponseLostError. */
        create: (feed: FeedRequest, { signal }?: CallOptions) => Promise<NewFeedResponse>;
        /** Iterate over your feeds, newest first; each page is requested when it is needed. */
        list: (options?: PageOptions) => AsyncGenerator<FeedResponse, void, void>;
        /** Return a feed with its batch and its newest runs. */
        get: (id: string, { signal }?: CallOptions) => Promise<FeedDetailsResponse>;
        /** Iterate over a feed's runs, newest first; each page is requested when it is needed. */
        runs: (id: string, options?: PageOptions) => AsyncGenerator<FeedRunResponse, void, void>;
        pause: (id: string, { signal }?: CallOptions) => Promise<FeedResponse>;
        /** Resume a paused feed. It makes up for missed runs by its `catchUp`. */
        resume: (id: string, { signal }?: CallOptions) => Promise<FeedResponse>;
        /** Set the maximum that the feed's runs may spend in 24 hours, in wei. */
        setBudget: (id: string, budget: bigint | number | string, { signal }?: CallOptions) => Promise<FeedResponse>;
        /** Give the feed a name of at most 60 characters, or remove it with null. */
        rename: (id: string, name: string | null, { signal }?: CallOptions) => Promise<FeedResponse>;
        /** End the feed for good. Its batches stay. */
        end: (id: string, { signal }?: CallOptions) => Promise<FeedResponse>;
        /** Run the feed now, and return the run. If the response is lost, it throws a ResponseLostError. */
        runNow: (id: string, { signal }?: CallOptions) => Promise<FeedRunResponse>;
    };
    /** Return the server's routes with their registries. */
    routes({ signal }?: CallOptions): Promise<readonly ConnectionResponse[]>;
    /**
     * Whether registry, events verifier and lookup are this version's code with the route's constructor arguments, and a
     * beacon registry is of the known beacon chain of its source. Null if only that is unknown, because this version does
     * not know the beacon chain.
     */
    isGenuine(route: ConnectionResponse, { signal }?: CallOptions): Promise<boolean | null>;
}
export {};
