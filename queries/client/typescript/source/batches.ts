import type { AccountBody, BatchRequest, BlockBody, WebhookBody } from "./api.ts";
import { UsageError } from "./errors.ts";
import type { Hex } from "./keccak.ts";
import { Position } from "./positions.ts";

/** The facts to prove of a block of the chain `source` (an id or alias): by number, or the last one until `timestamp`. */
export type BlockQuery = Omit<BlockBody, "accounts"> & {
  source: bigint | number | string;
  /** Addresses, or ENS names; `props` and `slots` are those of each. */
  accounts?: readonly string[];
  props?: AccountBody["props"];
  slots?: readonly (Hex | bigint | number | Position)[];
} & ({ block: bigint | number; timestamp?: never } | { timestamp: bigint | number; block?: never });

const BLOCK_LISTS = ["header", "logs", "receipts", "transactions", "withdrawals", "absent"];

/** Build a batch for `submit`, `estimate` and `witness`; `fee` is the maximum to spend on it, in wei. */
export function buildBatch(
  destination: bigint | number | string,
  queries: BlockQuery | readonly BlockQuery[],
  { fee = 0, webhook }: { fee?: bigint | number | string; webhook?: WebhookBody | undefined } = {},
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
  return { destinationChainId: `${destination}`, fee: `${fee}`, data, ...(webhook && { webhook }) };
}
