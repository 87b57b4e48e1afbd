import type { AccountBody, BatchRequest, BlockBody, DeliveryBody, WebhookBody } from "./api.ts";
import { UsageError } from "./errors.ts";
import type { Hex } from "./hex.ts";
import { Position } from "./positions.ts";

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
} & ({ block: bigint | number | "$due"; timestamp?: never } | { timestamp: bigint | number | "$due"; block?: never });

/** An argument of a call: lists for arrays and tuples; a text such as `$block` is filled in when it is known. */
export type Argument = string | bigint | number | boolean | readonly Argument[];

/** A call of a contract on the destination, once the batch is DONE. `unless`: a view that is true if it is not needed. */
export interface Delivery {
  to: Hex;
  function: string;
  args?: readonly Argument[];
  /** The gas that the contract may use. Without it, a trial shows the need, and it gets half as much on top. */
  gas?: bigint | number | string | undefined;
  unless?: { function: string; args?: readonly Argument[] } | undefined;
  /** Errors of the contract, such as `Stale(uint256,uint256)`: a reason then has their names. */
  errors?: readonly string[] | undefined;
}

/** Numbers as text, because JSON's are exact only to 2^53. */
function argument(value: Argument): unknown {
  if (Array.isArray(value)) return value.map(argument);
  return typeof value === "bigint" || typeof value === "number" ? `${value}` : value;
}

function deliveryBody({ to, function: called, args = [], gas, unless, errors }: Delivery): DeliveryBody {
  const condition = unless && { function: unless.function, args: (unless.args ?? []).map(argument) };
  const limit = gas === undefined ? {} : { gas: `${gas}` };
  return { to, function: called, args: args.map(argument), ...limit, ...(condition && { unless: condition }), ...(errors && { errors }) };
}

const BLOCK_LISTS = ["header", "logs", "receipts", "transactions", "withdrawals", "absent"];

export interface BatchOptions {
  /** The maximum to spend on the batch, in wei. */
  fee?: bigint | number | string;
  webhook?: WebhookBody | undefined;
  deliver?: readonly Delivery[] | undefined;
}

/** Build a batch for `submit`, `estimate` and `witness`. */
export function buildBatch(
  destination: ChainName,
  queries: BlockQuery | readonly BlockQuery[],
  { fee = 0, webhook, deliver = [] }: BatchOptions = {},
): BatchRequest {
  const data: Record<string, Record<string, any>> = {};
  for (const query of [queries].flat() as readonly BlockQuery[]) {
    const { source, block: number, timestamp, accounts = [], props = [], slots = [], ...lists } = query;
    const unknown = Object.keys(lists).filter((name) => !BLOCK_LISTS.includes(name));
    if (unknown.length) throw new UsageError(`Unknown members of a query: ${unknown.join(", ")}.`);
    const selector = timestamp === undefined ? `block:${number}` : `timestamp:${timestamp}`;
    const block = ((data[`${source}`] ??= {})[selector] ??= {});
    for (const [name, items] of Object.entries(lists)) {
      if (items) block[name] = [...(block[name] ?? []), ...items];
    }
    for (const account of accounts) {
      const entry = ((block.accounts ??= {})[account] ??= { props: [], slots: [] });
      entry.props.push(...props);
      const positions = slots.map((slot) => (typeof slot === "object" ? slot : new Position(BigInt(slot))));
      entry.slots.push(...positions.map(({ word }) => word));
    }
  }
  const options = { ...(webhook && { webhook }), ...(deliver.length && { deliver: deliver.map(deliveryBody) }) };
  return { destinationChainId: `${destination}`, fee: `${fee}`, data, ...options };
}
