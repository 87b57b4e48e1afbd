// Answers questions of positions and webhooks, one for each argument, as JSON.
import { readFileSync } from "node:fs";
import { findVariable, keccak256, mappingKey, Position, verifyWebhook } from "tacitus";

const hex = (bytes) => Buffer.from(bytes).toString("hex");
const functions = {
  variable(content, name, contract) {
    const [{ [contract]: output }] = Object.values(content.contracts);
    const { position, size, type } = findVariable(output.storageLayout, name);
    return [position.word, position.byteOffset, size, type];
  },
  mapping: (slot, kind, key) => new Position(BigInt(slot)).mapping(mappingKey(kind, key)).word,
  keccak: (content) => hex(keccak256(Buffer.from(content, "hex"))),
  webhook: async (body, headers, secret) => (await verifyWebhook(body, headers, secret)).event,
  request: async (body, headers, secret) => {
    const request = new Request("http://x", { method: "POST", body, headers });
    return (await verifyWebhook(new Uint8Array(await request.clone().arrayBuffer()), request.headers, secret)).event;
  },
};

const answers = [];
for (const [name, ...parameters] of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    answers.push(await functions[name](...parameters));
  } catch (error) {
    answers.push(`${error.name}: ${error.message}`);
  }
}
console.log(JSON.stringify(answers));
