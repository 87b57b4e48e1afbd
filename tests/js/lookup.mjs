// Reads contracts by ERC-3668 as wallets and front ends do; argv: library, node, address, and reads
// in JSON, each with a function's signature and arguments. Prints their values, or error messages.
const [library, node, address, reads] = process.argv.slice(2);

// Only one of them is loaded, because that takes longer than the reads.
async function reader() {
  if (library === "viem") {
    const { createPublicClient, http, parseAbi } = await import("viem");
    const client = createPublicClient({ transport: http(node) });
    return (abi, functionName, args) =>
      client.readContract({ address, abi: parseAbi(abi), functionName, args });
  }
  const { Contract, JsonRpcProvider } = await import("ethers");
  const provider = new JsonRpcProvider(node);
  return (abi, name, args) =>
    new Contract(address, abi, provider)[name](...args, { enableCcipRead: true });
}

const read = await reader();
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
