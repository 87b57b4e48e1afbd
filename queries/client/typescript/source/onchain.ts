import { accountFields, headerFields } from "./constants.ts";
import { UnreadableResponseError, UsageError } from "./errors.ts";
import { type AccountField, type HeaderField, type NumberOf, numberOf } from "./facts.ts";
import { type Hex, keccak256, toHex, toWord } from "./keccak.ts";

/** A client of the destination chain: viem's PublicClient, or a provider of ethers. */
export interface ChainReader {
  call(transaction: { to: Hex; data: Hex }): Promise<string | { data?: Hex | undefined }>;
}

/** What to read from a registry; a fact that `Tacitus.facts` returns has these members. */
export interface FactQuestion<Name> {
  registry: Hex;
  block: bigint | number;
  /** Null, or left out, for a field of the block's header. */
  account?: Hex | null;
  /** A field, or a slot as 0x-hex. */
  name: Name;
}

/** Read a fact from its registry, through a client of yours; null if it is not proven there. */
export async function readFact<const Name extends AccountField | HeaderField | Hex>(
  client: ChainReader,
  { registry, block, account = null, name }: FactQuestion<Name>,
): Promise<{ word: Hex; number: NumberOf<Name> } | null> {
  const fields: Record<string, number> = account ? accountFields : headerFields;
  const isSlot = account !== null && /^0x[0-9a-fA-F]{1,64}$/.test(name);
  const key = isSlot ? BigInt(name) : fields[name];
  if (key === undefined) throw new UsageError(`${name} is not a fact of ${account ? "an account" : "a header"}.`);
  const view = isSlot
    ? "tryAccountStorageSlotValues(address,uint256,bytes32)"
    : account ? "tryAccountField(address,uint256,uint8)" : "tryHeaderField(uint256,uint8)";
  const selector = toHex(keccak256(new TextEncoder().encode(view))).slice(0, 10);
  const parameters = [...(account ? [account] : []), block, key].map((value) => toWord(BigInt(value)).slice(2));
  const answer = await client.call({ to: registry, data: `${selector as Hex}${parameters.join("")}` });
  const data = (typeof answer === "string" ? answer : answer.data) ?? "0x";
  const [, isProven, digits] = /^0x0{63}([01])(.{64})$/.exec(data) ?? [];
  if (!digits) throw new UnreadableResponseError(`${registry} does not answer as a registry does.`);
  const word: Hex = `0x${digits}`;
  return isProven === "1" ? { word, number: numberOf(name, word) as NumberOf<Name> } : null;
}
