// What users of the TypeScript client do, in Node, Deno and Bun; prints a report as JSON.
import process from "node:process";
import { buildBatch, isTacitusError, Tacitus, version } from "tacitus";
import type { Fact, Hex, StatusResponse } from "tacitus";

const [url = "", key = "", chain = "", block = "", account = "", transaction = "", registry, verifier, target] =
  process.argv.slice(2);
const service = new Tacitus(`${url}/`, key);
const batch = buildBatch(chain, [
  { source: chain, block: BigInt(block), accounts: [account], props: ["BALANCE", "CODE_HASH"], slots: [7n] },
  { source: chain, block: BigInt(block), header: ["TIMESTAMP"], receipts: [transaction as `0x${string}`] },
]);
const call = { to: target as Hex, function: "onBalance(address,uint256,uint256)" };
const delivered = buildBatch(chain, { source: chain, block: BigInt(block), header: ["TIMESTAMP"] }, {
  deliver: [{ ...call, args: [account, "$block", 2n ** 200n] }],
});

const { deliveries } = await service.wait((await service.submit(delivered)).internalId);
const { free, feeNeeded } = await service.estimate(batch);
const witnesses = await service.witness(batch);
const { internalId } = await service.submit(batch, { idempotencyKey: `${internalName()}-${block}` });
const again = await service.submit(batch, { idempotencyKey: `${internalName()}-${block}` });
const statuses: StatusResponse[] = [];
for await (const status of service.progress(internalId)) statuses.push(status);
const done = await service.wait(internalId, { timeout: 30 });
const { queries } = await service.status(internalId);
const facts = await service.facts(internalId);
const slots = await service.facts(internalId, { kind: "slot" });

/** The compiler knows which facts are numbers. */
function show(fact: Fact): string {
  switch (fact.kind) {
    case "account":
      return fact.name === "BALANCE" ? `${fact.account} ${fact.number + 0n}` : `${fact.account} ${fact.word}`;
    case "slot":
      return `${fact.name} ${fact.number + 0n}`;
    case "header":
      return `${fact.name} ${fact.number}`;
    case "event":
      return `${fact.name} ${fact.event.status}`;
  }
}

function internalName(): string {
  return "Bun" in globalThis ? "bun" : "Deno" in globalThis ? "deno" : "node";
}

const refusals: string[] = [];
for (const attempt of [
  () => service.cancel(internalId),
  () => service.status("x"),
  () => service.submit({ ...batch, fee: "-1" }),
  () => new Tacitus(url, "tct_wrong").status(internalId),
  async () => new Tacitus("proofs.example.org"),
]) {
  try {
    await attempt();
  } catch (error) {
    if (!isTacitusError(error)) throw error;
    switch (error.name) {
      case "RequestRefusedError":
        refusals.push(error.code satisfies string);
        break;
      default:
        refusals.push(error.name);
    }
  }
}

// A block that is never mined: waiting ends with the reason of the signal, or by the time.
const connection = (await service.routes()).find(({ originChainId }) => originChainId === slots[0]?.chain);
if (!connection) throw new Error("no route");
const genuine = { ...connection, registry: registry as Hex, eventsVerifier: verifier as Hex };
const isGenuine = [
  await service.isGenuine(genuine),
  await service.isGenuine({ ...genuine, eventsVerifier: genuine.registry }),
  await service.isGenuine(connection), // deployed without the factory
];
const head = BigInt((await service.estimate(batch)).blocks[0]?.lastFinalBlock ?? 0) + 1n;
const ahead = await service.submit(buildBatch(chain, { source: chain, block: head + 2n, header: ["GAS_USED"] }));
const reasons: string[] = [];
for (const options of [{ signal: AbortSignal.timeout(300) }, { timeout: 0.3 }]) {
  await service.wait(ahead.internalId, options).catch((error: Error) => reasons.push(error.name));
}
const listed: string[] = [];
for await (const { internalId } of service.batches({ limit: 1 })) {
  if (listed.push(internalId) === 2) break;
}
const feed = await service.feeds.create({
  every: "1 week",
  batch: buildBatch(chain, { source: chain, timestamp: "$due", accounts: [account], props: ["BALANCE"] }),
});
const feeds: string[] = [];
for await (const { id } of service.feeds.list({ limit: 1 })) if (id === feed.id) feeds.push("listed");
for await (const { due } of service.feeds.runs(feed.id)) feeds.push(due);
feeds.push((await service.feeds.pause(feed.id)).state, (await service.feeds.resume(feed.id)).state);
feeds.push((await service.feeds.setBudget(feed.id, 2n ** 70n)).budget ?? "", (await service.feeds.end(feed.id)).state);
const { batch: repeated } = await service.feeds.get(feed.id);

const cancelled = await service.cancel(ahead.internalId);
await service.wait(ahead.internalId).catch((error: Error) => reasons.push(error.name));
const rejected = await service.batches({ status: "REJECTED" }).next();

console.log(
  JSON.stringify({
    version,
    free: free && feeNeeded,
    witness: witnesses.map(({ facts }) => facts.length),
    isSame: internalId === again.internalId,
    statuses,
    done: done.status,
    step: queries?.[0]?.steps.at(-1)?.status,
    facts: facts.map(show),
    slots: slots.map(({ number }) => `${number + 0n}`), // no other kind among them
    contracts: facts.map((fact) => (fact.kind === "event" ? fact.verifier : fact.registry)),
    isListed: listed.join() === [ahead.internalId, internalId].join(),
    isRejected: rejected.value?.internalId === ahead.internalId,
    refusals,
    reasons,
    feeds,
    repeated: Object.keys(repeated),
    cancelled: cancelled.rejection?.code,
    kind: connection.kind,
    delivered: deliveries?.map(({ state }) => state),
    isGenuine,
    id: internalId,
    proof: await service.proof(internalId),
  }),
);
