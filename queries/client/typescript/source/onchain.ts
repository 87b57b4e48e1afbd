import type { EventResponse } from "./api.ts";
import { accountFields, headerFields, eventsVerifierAbi, factsRegistryAbi } from "./constants.ts";
import { UnreadableResponseError, UsageError } from "./errors.ts";
import type { AccountField, EventFactOf, EventKind, HeaderField, NumberOf, ProvenEvents } from "./facts.ts";
import { numberOf } from "./facts.ts";
import type { Hex } from "./hex.ts";
import { hashHex, toHex, toWord } from "./keccak.ts";

type ViewCall = { to: Hex; data: Hex };

/** A client of the destination chain: one of viem or wagmi, a wallet's provider, or a provider of ethers. */
export type ChainReader =
  | { call(transaction: ViewCall): Promise<string | { data?: Hex | undefined }> }
  | { request(request: { method: "eth_call"; params: [ViewCall, "latest"] }): Promise<unknown> };

/** What to read from a registry; a fact of another kind than `event` has these members. A header has no account. */
export type FactQuestion<Name> = { registry: Hex; block: bigint | number; account?: Hex | null; name: Name };

/** What to read from an events verifier; a fact of kind `event` has these members. Only a log needs `event`. */
export type EventQuestion<Kind extends EventKind> =
  Pick<EventFactOf<Kind>, "verifier" | "name"> & { block: bigint | number; event?: Partial<EventResponse> };

/** Read a fact from its registry, through a client of yours; null if it is not proven there. */
export async function readFact<const Name extends AccountField | HeaderField | Hex>(
  client: ChainReader,
  { registry, block, account = null, name }: FactQuestion<Name>,
): Promise<{ word: Hex; number: NumberOf<Name> } | null> {
  const fields: Record<string, number> = account ? accountFields : headerFields;
  const isSlot = account !== null && /^0x[0-9a-fA-F]{1,64}$/.test(name);
  const key = isSlot ? name : fields[name];
  if (key === undefined) throw new UsageError(`${name} is not a fact of ${account ? "an account" : "a header"}.`);
  const view = isSlot ? "tryAccountStorageSlotValues" : account ? "tryAccountField" : "tryHeaderField";
  const values = account ? [account, block, key] : [block, key];
  const result = await readProven(client, registry, factsRegistryAbi, view, values);
  return result && { word: result.value, number: numberOf(name, result.value) as NumberOf<Name> };
}

/** Read an event or an absence from its verifier, through a client of yours; null if it is not proven there. */
export async function readEvent<Kind extends EventKind>(
  client: ChainReader,
  { verifier, block, name, event = {} }: EventQuestion<Kind>,
): Promise<ProvenEvents[Kind] | null> {
  const [kind, index = "", second = "", third = ""] = name.split(":");
  const { address, topics, data } = event;
  if (kind === "LOG" && !(address && topics && data)) throw new UsageError(`Pass the content of ${name} as event.`);
  const filter = third.split(",");
  const mask = filter.reduce((bits, topic, place) => bits + (topic ? 2 ** place : 0), 0);
  const views: Record<string, any[]> = {
    LOG: ["isLog", index, second, address, topics, data],
    RECEIPT: ["tryReceiptOf", index],
    TRANSACTION: ["tryTransactionHash", index],
    WITHDRAWAL: ["tryWithdrawalOf", index],
    ABSENT_TRANSACTION: ["isIndexAbsent", headerFields.TRANSACTIONS_ROOT, index],
    ABSENT_WITHDRAWAL: ["isIndexAbsent", headerFields.WITHDRAWALS_ROOT, index],
    ABSENT_LOG: ["isLogAbsent", index, second, mask, filter.filter(Boolean)],
    SILENT_BLOCK: ["isBlockSilent", Number(index.length === 66), index],
  };
  const [view, ...values] = views[kind!] ?? [];
  if (!view) throw new UsageError(`${name} is not the name of an event.`);
  const result = await readProven(client, verifier, eventsVerifierAbi, view, [block, ...values]);
  return result && (kind === "LOG" ? { address, topics, data } : result);
}

/** As viem decodes a word: a number if it always fits into one. */
function decodeWord(type: string, word: string): bigint | number | Hex {
  if (type === "address") return `0x${word.slice(24)}`;
  const bits = Number(/^uint(\d+)$/.exec(type)?.[1] ?? 0);
  return !bits ? `0x${word}` : bits > 48 ? BigInt(`0x${word}`) : Number(`0x${word}`);
}

/** Call a view, and return its outputs by their names; null if the first one is false. */
async function readProven(client: ChainReader, to: Hex, abi: any, view: string, values: any[]): Promise<any> {
  const { inputs, outputs } = abi.find((entry: any) => entry.name === view);
  let tails = "";
  const toDigits = (value: string | number) => toWord(value).slice(2);
  const heads = inputs.map(({ type }: any, index: number) => {
    const value = values[index];
    if (!/^bytes(32\[])?$/.test(type)) return toDigits(value);
    const content = type === "bytes" ? value.slice(2) : value.map(toDigits).join("");
    const head = toDigits(32 * inputs.length + tails.length / 2);
    tails += toDigits(type === "bytes" ? content.length / 2 : value.length);
    tails += content.padEnd(64 * Math.ceil(content.length / 64), "0");
    return head;
  });
  const signature = `${view}(${inputs.map(({ type }: any) => type)})`;
  const selector = hashHex(toHex(new TextEncoder().encode(signature))).slice(0, 10);
  const call = { to, data: `${selector}${heads.join("")}${tails}` as Hex };
  const answer: any = await ("call" in client
    ? client.call(call)
    : client.request({ method: "eth_call", params: [call, "latest"] }));
  const words = `${answer?.data ?? answer}`.match(/[0-9a-f]{64}/g) ?? [];
  const members = outputs.flatMap((output: any) => output.components ?? [output]);
  if (words.length !== members.length || BigInt(`0x${words[0]}`) > 1n) {
    throw new UnreadableResponseError(`${to} does not answer as this contract of Tacitus does.`);
  }
  const decoded = members.map(({ name, type }: any, index: number) => [name, decodeWord(type, words[index]!)]);
  return BigInt(`0x${words[0]}`) ? Object.fromEntries(decoded.slice(1)) : null;
}
