import { UsageError } from "./errors.ts";
import { mappingKey, parseInteger, parseTypedKey, Position, TYPE_NAME } from "./positions.ts";

/** A variable as a storage layout describes it. */
export interface Variable {
  position: Position;
  /** Bytes. */
  size: number;
  type: string;
  /** Of a dynamic array's elements, or of a long text. */
  data: Position | null;
}

/** Find a variable such as `points[4].y` in solc's storageLayout, or in its whole output. */
export function findVariable(content: unknown, expression: string, contract = ""): Variable {
  try {
    return resolveExpression(selectLayout(content, contract), expression.trim());
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError("This is not a storage layout of solc.", {}, error);
  }
}

/** Return the layout of `contract`, or the only layout. */
function selectLayout(content: any, contract: string): any {
  const output = content.output ?? content;
  if (!output.contracts) return output.storageLayout ?? output;
  const layouts = new Map<string, unknown>();
  for (const [file, contracts] of Object.entries<any>(output.contracts)) {
    for (const [name, { storageLayout }] of Object.entries<any>(contracts)) {
      if (storageLayout?.storage.length) layouts.set(`${file}:${name}`, storageLayout);
    }
  }
  const names = [...layouts.keys()];
  const matches = names.filter((name) => ["", name, name.split(":").at(-1)].includes(contract));
  if (matches.length === 1) return layouts.get(matches[0]!);
  const known = names.join(", ") || "none (select storageLayout in solc's outputSelection)";
  throw new UsageError(`Choose one of the contracts with variables: ${known}.`);
}

function resolveExpression({ storage, types }: any, expression: string): Variable {
  const name = /^[A-Za-z_$][\w$]*/.exec(expression)?.[0] ?? "";
  const entries = storage.filter((entry: any) => entry.label === name);
  if (entries.length !== 1) {
    const labels = storage.map((entry: any) => entry.label).join(", ");
    throw new UsageError(`'${expression}' is not a unique name. The layout has: ${labels}.`);
  }
  const rest = expression.slice(name.length);
  const accesses = [...rest.matchAll(/\.([A-Za-z_$][\w$]*)|\[(?:"([^"]*)"|'([^']*)'|([^\]"']+))\]/g)];
  if (accesses.map(([text]) => text).join("") !== rest) {
    throw new UsageError(`'${expression}' is not written like points[4].y or names['a'].`);
  }
  let position = new Position(BigInt(entries[0].slot), entries[0].offset);
  let kind: string = entries[0].type;
  for (const [, member, double, single, bare] of accesses) {
    const key = double ?? single ?? bare?.trim() ?? "";
    [position, kind] = member ? structMember(types, kind, position, member) : element(types, kind, position, key);
  }
  const { encoding, numberOfBytes, label } = types[kind];
  const data = ["dynamic_array", "bytes"].includes(encoding) ? position.dynamicData() : null;
  return { position, size: Number(numberOfBytes), type: label, data };
}

function structMember(types: any, kind: string, position: Position, name: string): [Position, string] {
  const member = types[kind].members?.find((entry: any) => entry.label === name);
  if (!member) throw new UsageError(`${types[kind].label} has no member ${name}.`);
  return [position.member(BigInt(member.slot), member.offset), member.type];
}

function element(types: any, kind: string, position: Position, key: string): [Position, string] {
  const container = types[kind];
  if (container.encoding === "mapping") {
    return [position.mapping(keyOfType(types, container.key, key)), container.value];
  }
  if (!container.base) throw new UsageError(`${container.label} has no elements.`);
  const [index, size] = [parseInteger(key), Number(types[container.base].numberOfBytes)];
  if (container.encoding === "dynamic_array") return [position.dynamicArrayElement(index, size), container.base];
  const count = /\)(\d+)_storage$/.exec(kind)?.[1];
  if (count && index >= BigInt(count)) throw new UsageError(`${container.label} has no element ${index}.`);
  return [position.fixedArrayElement(index, size), container.base];
}

/** Encode a key by the compiler's name of its type, such as t_uint64. */
function keyOfType(types: any, kind: string, text: string): Uint8Array {
  const stem = (/^t_(\w+)/.exec(kind)?.[1] ?? "").replace(/_(memory_ptr|storage|calldata_ptr).*/, "");
  const name = { contract: "address", enum: "uint8", address_payable: "address" }[stem] ?? stem;
  if (name !== "userDefinedValueType") return TYPE_NAME.test(name) ? mappingKey(name, text) : parseTypedKey(text);
  const { label, numberOfBytes: size } = types[kind]; // not the type under it
  if (/^-?\d+$/.test(text)) return mappingKey(`${text.startsWith("-") ? "int" : "uint"}${8 * size}`, text);
  if (text.includes(":") && TYPE_NAME.test(text.split(":")[0]!)) return parseTypedKey(text);
  throw new UsageError(
    `The layout does not give the type under ${label}. Write it before the key, such as ` +
      `bytes${size}:${text} or uint${8 * size}:${text}.`,
  );
}
