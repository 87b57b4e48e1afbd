// Reads contracts by ERC-3668 as wallets and front ends do; argv: library, node, address, and reads
// in JSON, each with a function's signature and arguments. Prints their values, or error messages.
import { Contract, JsonRpcProvider } from "ethers";
import { createPublicClient, http, parseAbi } from "viem";

const [library, node, address, reads] = process.argv.slice(2);

function reader() {
  if (library === "viem") {
    const client = createPublicClient({ transport: http(node) });
    return (abi, functionName, args) =>
      client.readContract({ address, abi: parseAbi(abi), functionName, args });
  }
  const provider = new JsonRpcProvider(node);
  return (abi, name, args) =>
    new Contract(address, abi, provider)[name](...args, { enableCcipRead: true });
}

const read = reader();
const results = [];
for (const { signature, args } of JSON.parse(reads)) {
  const [, name] = signature.match(/^function (\w+)/);
  try {
    results.push(await read([signature], name, args));
  } catch (error) {
    results.push(error.message);
  }
}
console.log(JSON.stringify(results, (_, value) => (typeof value === "bigint" ? `${value}` : value)));
process.exit();
