// Reads facts by ERC-3668 as wallets and front ends do; argv: client, node, lookup, reads in JSON.
import { readFileSync } from "node:fs";
import { Contract, JsonRpcProvider } from "ethers";
import { createPublicClient, http } from "viem";

const [library, node, address, abiFile, reads] = process.argv.slice(2);
const { abi } = JSON.parse(readFileSync(abiFile, "utf8"));

function reader() {
  if (library === "viem") {
    const client = createPublicClient({ transport: http(node) });
    return ({ name, args }) => client.readContract({ address, abi, functionName: name, args });
  }
  const contract = new Contract(address, abi, new JsonRpcProvider(node));
  return ({ signature, args }) => contract[signature](...args, { enableCcipRead: true });
}

const read = reader();
const results = [];
for (const asked of JSON.parse(reads)) {
  try {
    results.push(await read(asked));
  } catch (error) {
    results.push(error.message);
  }
}
console.log(JSON.stringify(results));
process.exit();
