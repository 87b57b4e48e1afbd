// Facts read through viem and ethers, with inferred types; prints a report as JSON.
import { JsonRpcProvider } from "ethers";
import { accountFields, buildBatch, factsRegistryAbi, readEvent, readFact, Tacitus } from "tacitus";
import type { Hex } from "tacitus";
import { createPublicClient, defineChain, http, isHex } from "viem";
import { createConfig } from "wagmi";
import { getClient } from "wagmi/actions";

const [url = "", node = "", id = ""] = process.argv.slice(2);
const client = createPublicClient({ transport: http(node) });
const provider = new JsonRpcProvider(node, undefined, { staticNetwork: true });
const nativeCurrency = { name: "Ether", symbol: "ETH", decimals: 18 };
const here = defineChain({ id: 31337, name: "Here", nativeCurrency, rpcUrls: { default: { http: [node] } } });
const wagmi = getClient(createConfig({ chains: [here], transports: { [here.id]: http() } })); // as useClient()
const service = new Tacitus(url, process.env.TACITUS_KEY);
const report: Record<string, unknown> = {};

const facts = await service.facts(id);
for (const fact of facts) {
  switch (fact.kind) {
    case "event": {
      const [one, other] = [await readEvent(client, fact), await readEvent(provider, fact)];
      if (!one || !other) throw new Error("not proven");
      if ((await readEvent(client, { ...fact, block: 1n })) !== null) throw new Error("proven");
      report[fact.name] = Object.keys(one).length;
      if (fact.eventKind === "RECEIPT") {
        const receipt = await readEvent(client, fact);
        report[fact.name] = receipt?.status satisfies number | undefined;
      }
      break;
    }
    case "account": {
      const args = [fact.account, fact.block, accountFields[fact.name]] as const;
      const word: Hex = await client.readContract({
        address: fact.registry, abi: factsRegistryAbi, functionName: "accountField", args,
      });
      if (!isHex(word) || word !== fact.word) throw new Error("another word");
    } // and as the others
    default: {
      const values = [await readFact(client, fact), await readFact(provider, fact), await readFact(wagmi, fact)];
      if (values.some((value) => value?.word !== fact.word)) throw new Error("another word");
      report[fact.name] = `${values[0]?.number}`;
      if ((await readFact(client, { ...fact, block: 1n })) !== null) throw new Error("not proven");
    }
  }
}

// The name of a constant fact gives the type of its number.
const fact = facts.find(({ kind }) => kind === "account");
if (fact?.kind !== "account") throw new Error("no account");
const { registry, block, account } = fact;
const balance = await readFact(client, { registry, block, account, name: "BALANCE" });
const codeHash = await readFact(provider, { registry, block, account, name: "CODE_HASH" });
report.sum = `${(balance?.number ?? 0n) + 1n}`;
report.none = codeHash?.number satisfies null | undefined;

// A witness is verified without storing anything.
const query = { source: fact.chain, block, accounts: [account], props: ["BALANCE"] } as const;
const [witness] = await service.witness(buildBatch(fact.chain, query));
if (!witness) throw new Error("no witness");
const verified = await client.readContract({
  address: witness.registry, abi: factsRegistryAbi, functionName: "verify", args: [witness.proof],
});
report.verified = `${verified.accounts[0]?.balance satisfies bigint | undefined}`;
try {
  await readFact(client, { registry: account, block, account, name: "BALANCE" });
} catch (error) {
  report.error = (error as Error).name;
}
console.log(JSON.stringify(report));
provider.destroy();
