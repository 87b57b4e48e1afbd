import type { ConnectionResponse, EventResponse, QueryResponse, StatusResponse } from "./api.ts";
import type { ReceiptFact, WithdrawalFact } from "./api.ts";
import type { accountFields, headerFields } from "./constants.ts";
import { FactsLostError, UnreadableResponseError } from "./errors.ts";
import type { Hex } from "./hex.ts";

export type AccountField = keyof typeof accountFields;
export type HeaderField = keyof typeof headerFields;

const NUMERIC_FIELDS = [
  "NONCE", "BALANCE", "DIFFICULTY", "BLOCK_NUMBER", "GAS_LIMIT", "GAS_USED", "TIMESTAMP",
  "BASE_FEE_PER_GAS", "BLOB_GAS_USED", "EXCESS_BLOB_GAS",
] as const;

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
export type AccountFact = { [Name in AccountField]: NamedFact<"account", Name, Hex> }[AccountField];
/** A storage slot; its name is 0x and 64 digits. */
export type SlotFact = NamedFact<"slot", Hex, Hex>;
/** A field of a block's header. */
export type HeaderFact = { [Name in HeaderField]: NamedFact<"header", Name, null> }[HeaderField];

type AbsenceKind = "ABSENT_TRANSACTION" | "ABSENT_WITHDRAWAL" | "ABSENT_LOG" | "SILENT_BLOCK";

/** What is proven of an event, by its kind; of an absence nothing but itself. */
export interface ProvenEvents extends Record<AbsenceKind, {}> {
  LOG: { address: Hex; topics: readonly Hex[]; data: Hex };
  RECEIPT: ReceiptFact;
  TRANSACTION: { hash: Hex };
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
export type EventFact = { [Kind in EventKind]: EventFactOf<Kind> }[EventKind];

/** One proven value. */
export type Fact = AccountFact | SlotFact | HeaderFact | EventFact;

export type FactKind = Fact["kind"];
/** A fact of one kind: of `"slot"`, a SlotFact. */
export type FactOf<Kind extends FactKind> = Extract<Fact, { kind: Kind }>;

/** @internal */
export function numberOf(name: string, word: Hex): bigint | null {
  return name.startsWith("0x") || NUMERIC_FIELDS.some((field) => field === name) ? BigInt(word) : null;
}

/** @internal The facts of a DONE batch's query. */
export function factsOfQuery(
  { originChainId, block, selector, account, name: ens, values, events = [] }: QueryResponse,
  { destinationChainId }: StatusResponse,
  routes: readonly ConnectionResponse[],
): Fact[] {
  if (values === null) throw new FactsLostError("A reorg removed facts of the batch; its page says more.");
  const { registry, eventsVerifier: verifier } = routes.find(
    (route) => route.originChainId === originChainId && route.destinationChainId === destinationChainId,
  ) ?? {};
  const isValid = /^[0-9]{1,78}$/.test(`${originChainId}${block}`)
    && Object.values(values ?? {}).every((word) => /^0x[0-9a-f]{64}$/.test(word));
  if (!registry || !verifier || !values || !isValid) {
    throw new UnreadableResponseError("In the server's response, a query is malformed or has no route.");
  }
  return Object.entries(values).map(([name, word]) => {
    const common = { chain: originChainId, block: BigInt(block ?? 0), selector, registry, name, word };
    if (name.includes(":")) {
      const event = events.find((entry) => entry.name === name) ?? { name };
      return { ...common, kind: "event", eventKind: name.split(":")[0], verifier, event } as EventFact;
    }
    const kind = !account ? "header" : name.startsWith("0x") ? "slot" : "account";
    return { ...common, kind, number: numberOf(name, word), account, ens } as Fact;
  });
}
