// Reads events from a verifier through viem and ethers; prints what both return as JSON.
import { readFileSync } from "node:fs";
import { JsonRpcProvider } from "ethers";
import { eventsVerifierAbi, readEvent } from "tacitus";
import type { EventKind, EventQuestion } from "tacitus";
import { createPublicClient, http } from "viem";

const [node = ""] = process.argv.slice(2);
const client = createPublicClient({ transport: http(node) });
const provider = new JsonRpcProvider(node, undefined, { staticNetwork: true });
const text = (value: unknown) => JSON.stringify(value, (_, item) => (typeof item === "bigint" ? `${item}` : item));

const results: unknown[] = [];
for (const question of JSON.parse(readFileSync(0, "utf8")) as EventQuestion<EventKind>[]) {
  const result = await readEvent(client, question).catch(({ name }) => name);
  const other = await readEvent(provider, question).catch(({ name }) => name);
  if (text(result) !== text(other)) throw new Error(`${text(result)} and ${text(other)}`);
  results.push(result);
  if (question.name.startsWith("RECEIPT:") && result) {
    const args = [BigInt(question.block), BigInt(question.name.slice(8))] as const;
    const { verifier: address } = question;
    const receipt = await client.readContract({ address, abi: eventsVerifierAbi, functionName: "receiptOf", args });
    if (text(receipt) !== text(result) || typeof result.status !== typeof receipt.status) throw new Error("not as viem");
  }
}
console.log(text(results));
provider.destroy();
