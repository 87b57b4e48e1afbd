// Run by `tacitus build_client`, which sends the API's schemas and the constants to stdin: writes
// the generated sources, joins them with the others, and compiles them.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const { schemas, constants } = JSON.parse(readFileSync(0, "utf8"));
const [, , output] = process.argv;
const client = import.meta.dirname;
const compiler = join(client, "../../../tests/js/node_modules/typescript/bin/tsc");

// In the order in which they are joined, after the generated ones.
const names = ["hex", "errors", "keccak", "positions", "layouts", "batches", "facts", "onchain", "webhooks", "service"];
const sources = names.map((name) => readFileSync(join(client, "source", `${name}.ts`), "utf8"));

/** A schema as a type of TypeScript. */
function typeOf(schema) {
  const { $ref, anyOf, enum: values, items, properties, additionalProperties, required = [], type, pattern } = schema;
  if ($ref) return $ref.split("/").at(-1);
  if (anyOf) return [...new Set(anyOf.map(typeOf))].join(" | ");
  if (values) return values.map((value) => JSON.stringify(value)).join(" | ");
  if (items) return `ReadonlyArray<${typeOf(items)}>`;
  if (properties) {
    const members = Object.entries(properties).map(([name, member]) => {
      const meaning = member.description ? `  /** ${member.description} */\n` : "";
      return `${meaning}  ${name}${required.includes(name) ? "" : "?"}: ${typeOf(member)};\n`;
    });
    return `{\n${members.join("")}}`;
  }
  if (additionalProperties) return `{ readonly [${schema["x-key"] ?? "name"}: string]: ${typeOf(additionalProperties)} }`;
  if (pattern?.startsWith("^0x")) return "Hex";
  return type === "integer" ? "number" : (type ?? "unknown");
}

/** The schemas and structs that the sources import, and the schemas in them. */
function usedTypes() {
  const used = new Set();
  for (const [, list] of sources.join("").matchAll(/import type \{([^}]*)\} from "\.\/api\.ts"/g)) {
    for (const name of list.match(/\w+/g)) used.add(name);
  }
  for (const name of used) {
    for (const [, inner] of JSON.stringify(schemas[name] ?? {}).matchAll(/schemas\/(\w+)/g)) used.add(inner);
  }
  return [...used].sort();
}

/** JSON with one line for each entry of a list. */
function literal(value) {
  const withoutNames = (key, member) => (key === "internalType" ? undefined : member);
  if (!Array.isArray(value)) return JSON.stringify(value, null, 2);
  return `[\n${value.map((entry) => `  ${JSON.stringify(entry, withoutNames)},\n`).join("")}]`;
}

/** A struct that a view of an ABI returns, as viem decodes it. */
function structType(abi, name) {
  const outputs = abi.flatMap((entry) => entry.outputs ?? []);
  const { components } = outputs.find(({ internalType }) => internalType === `struct ${name}`);
  const members = components.map(({ name, type }) => {
    const [, bits] = /^uint(\d+)$/.exec(type) ?? [];
    return `  ${name}: ${!bits ? "Hex" : bits > 48 ? "bigint" : "number"};\n`;
  });
  return `{\n${members.join("")}}`;
}

const types = usedTypes().map((name) => {
  const type = schemas[name] ? typeOf(schemas[name]) : structType(constants.eventsVerifierAbi, name);
  return `export type ${name} = ${type};\n`;
});
const generated = {
  "api.ts": ['import type { Hex } from "./hex.ts";\n', ...types].join("\n"),
  "constants.ts": Object.entries(constants)
    .map(([name, value]) => `export const ${name} = ${literal(value)} as const;\n`)
    .join("\n"),
};
const joined = [...Object.values(generated), ...sources]
  .join("\n")
  .replace(/^import (type )?\{[^}]*\} from "\.\/\w+\.ts";\n+/gm, "")
  .replace(/(\/\*\* @internal.*\*\/\n)export /g, "$1");

const folder = mkdtempSync(join(client, "build-"));
try {
  cpSync(join(client, "tsconfig.json"), join(folder, "tsconfig.json"));
  writeFileSync(join(folder, "tacitus.mts"), joined);
  execFileSync(process.execPath, [compiler], { cwd: folder, stdio: ["ignore", 2, 2] });
  mkdirSync(join(output, "source"), { recursive: true });
  for (const [name, text] of Object.entries(generated)) writeFileSync(join(output, "source", name), text);
  const header = `// @ts-self-types="./tacitus.d.ts"\n// The client of Tacitus ${constants.version}.\n\n`;
  writeFileSync(join(output, "tacitus.mjs"), header + readFileSync(join(folder, "tacitus.mjs"), "utf8"));
  writeFileSync(join(output, "tacitus.d.ts"), readFileSync(join(folder, "tacitus.d.mts"), "utf8"));
} finally {
  rmSync(folder, { recursive: true });
}
