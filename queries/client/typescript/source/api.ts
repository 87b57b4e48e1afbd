import type { Hex } from "./hex.ts";

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
  data: { readonly [chain: string]: { readonly [block: string]: BlockBody } };
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
  accounts?: { readonly [account: string]: AccountBody };
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
  data: { readonly [chain: string]: { readonly [block: string]: BlockBody } };
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
  values: { readonly [name: string]: Hex } | null;
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
  data: { readonly [chain: string]: { readonly [block: string]: BlockBody } };
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
  on?: { readonly [name: string]: unknown } | null;
  /** As in the request. */
  when?: { readonly [name: string]: unknown } | null;
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
  batch: { readonly [name: string]: unknown };
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
  on?: { readonly [name: string]: unknown } | null;
  /** As in the request. */
  when?: { readonly [name: string]: unknown } | null;
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
  batch: { readonly [name: string]: unknown };
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
  on?: { readonly [name: string]: unknown } | null;
  /** As in the request. */
  when?: { readonly [name: string]: unknown } | null;
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
  batch: { readonly [name: string]: unknown };
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
  values: { readonly [name: string]: Hex } | null;
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
  headers?: { readonly [name: string]: string };
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
