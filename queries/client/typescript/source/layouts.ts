import { UsageError } from "./errors.ts";
import { mappingKey, parseInteger, Position } from "./positions.ts";

/** A variable as a storage layout describes it; its size is in bytes. */
export interface Variable {
  position: Position;
  size: number;
  type: string;
}

/** Find a variable such as `points[4].y` in solc's storageLayout. */
export function findVariable({ storage, types }: any, expression: string): Variable {
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
  for (const [, name, double, single, bare] of accesses) {
    const key = double ?? single ?? bare?.trim() ?? "";
    const member = types[kind].members?.find((entry: any) => entry.label === name);
    if (name && !member) throw new UsageError(`${types[kind].label} has no member ${name}.`);
    [position, kind] = member
      ? [position.member(BigInt(member.slot), member.offset), member.type]
      : element(types, kind, position, key);
  }
  return { position, size: Number(types[kind].numberOfBytes), type: types[kind].label };
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
  if (name !== "userDefinedValueType") return mappingKey(name, text);
  const { label, numberOfBytes: size } = types[kind]; // not the type under it
  if (/^-?\d+$/.test(text)) return mappingKey(`${text.startsWith("-") ? "int" : "uint"}${8 * size}`, text);
  const [, typeName, key] = /^(\w+):(.*)$/.exec(text) ?? [];
  if (typeName && key) return mappingKey(typeName, key);
  const examples = `such as bytes${size}:${text} or uint${8 * size}:${text}`;
  throw new UsageError(`The layout does not give the type under ${label}. Write it before the key, ${examples}.`);
}
