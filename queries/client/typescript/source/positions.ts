import { UsageError } from "./errors.ts";
import type { Hex } from "./hex.ts";
import { hashHex, keccak256, parseHex, toHex, toWord } from "./keccak.ts";

const WORD = 32; // bytes

/**
 * Where Solidity stores a variable: its slot, and its lowest byte in the slot. Each method steps into it:
 * the position of `points[4].y` is `new Position(7).dynamicArrayElement(4, 64).member(1)`.
 */
export class Position {
  readonly slot: bigint;

  constructor(slot: bigint | number, readonly byteOffset = 0) {
    this.slot = BigInt(slot);
    if (this.slot !== BigInt.asUintN(256, this.slot) || !(byteOffset >= 0 && byteOffset < WORD)) {
      throw new UsageError(`There is no byte ${byteOffset} of slot ${slot}.`);
    }
  }

  /** The slot as 32 bytes in hex. */
  get word(): Hex {
    return toWord(this.slot);
  }

  /** A struct's member, at its offsets in the compiler's layout. */
  member(slotOffset: bigint | number, byteOffset = 0): Position {
    this.#checkStartsSlot("struct");
    if (slotOffset < 0) throw new UsageError(`A struct has no member at slot ${slotOffset}.`);
    return this.#after(BigInt(slotOffset), byteOffset);
  }

  /** A mapping's value for a key encoded by `mappingKey`. */
  mapping(key: Uint8Array): Position {
    this.#checkStartsSlot("mapping");
    return new Position(BigInt(hashHex(toHex(key) + this.word.slice(2))));
  }

  /**
   * An element of `T[n]`, where a T takes `size` bytes. Elements of at most half a word share slots; none
   * spans two. A longer T, and any struct or array, takes whole slots: its size is a multiple of 32.
   */
  fixedArrayElement(index: bigint | number, size = WORD): Position {
    this.#checkStartsSlot("array");
    if (index < 0) throw new UsageError(`An array has no element ${index}.`);
    if (size < 1 || !Number.isInteger(size) || (size > WORD && size % WORD)) {
      throw new UsageError(`No element takes ${size} bytes.`);
    }
    if (size > WORD) return this.#after(BigInt(index) * BigInt(size / WORD));
    const perSlot = BigInt(Math.floor(WORD / size));
    return this.#after(BigInt(index) / perSlot, Number(BigInt(index) % perSlot) * size);
  }

  /** An element of `T[]`; the array's own slot holds its length. */
  dynamicArrayElement(index: bigint | number, size = WORD): Position {
    return this.dynamicData().fixedArrayElement(index, size);
  }

  /** Where the elements of a dynamic array begin, or the data of a `bytes` or `string` over 31 bytes. */
  dynamicData(): Position {
    this.#checkStartsSlot("array");
    return new Position(BigInt(hashHex(this.word)));
  }

  #after(slots: bigint, byteOffset = 0): Position {
    return new Position(BigInt.asUintN(256, this.slot + slots), byteOffset);
  }

  #checkStartsSlot(kind: string): void {
    if (this.byteOffset) throw new UsageError(`A ${kind} begins a slot, not at byte ${this.byteOffset}.`);
  }
}

/** Encode a mapping's key as Solidity hashes it; `kind` is its type, such as uint64. */
export function mappingKey(kind: string, key: string | bigint | number | boolean): Uint8Array {
  const text = String(key);
  const digits = kind.replace(/^[a-z]*/, "");
  const size = Number(digits || 256);
  switch (kind.slice(0, kind.length - digits.length)) {
    case "address":
      return parseHex(`0x${toHex(parseAddress(text)).slice(2).padStart(2 * WORD, "0")}`);
    case "string":
      return new TextEncoder().encode(text);
    case "bool":
      if (/^(true|false)$/i.test(text)) return mappingKey("uint", Number(/true/i.test(text)));
      break;
    case "bytes":
      if (!digits) return parseHex(text);
      if (size >= 1 && size <= WORD && parseHex(text).length === size) return parseHex(text.padEnd(2 + 2 * WORD, "0"));
      break;
    case "uint":
    case "int": {
      const number = parseInteger(text);
      const fitted = kind.startsWith("u") ? BigInt.asUintN(size, number) : BigInt.asIntN(size, number);
      if (size % 8 === 0 && size >= 8 && size <= 256 && fitted === number) return parseHex(toWord(number));
    }
  }
  throw new UsageError(`${text} is not a key of type ${kind}.`);
}

/** @internal */
export function parseInteger(text: string): bigint {
  if (/^-?(\d+|0x[0-9a-fA-F]+)$/.test(text)) return text.startsWith("-") ? -BigInt(text.slice(1)) : BigInt(text);
  throw new UsageError(`'${text}' is not a whole number in decimal or 0x-hex.`);
}

/** Check the EIP-55 checksum: a mistyped address would give a wrong slot without an error. */
function parseAddress(text: string): Uint8Array {
  const address = parseHex(text);
  if (address.length !== 20) throw new UsageError(`An address has 20 bytes, not ${address.length} as ${text} has.`);
  const [digits, lower] = [text.slice(2), text.slice(2).toLowerCase()];
  const hash = toHex(keccak256(new TextEncoder().encode(lower))).slice(2);
  const checksum = [...lower].map((digit, index) => (hash[index]! >= "8" ? digit.toUpperCase() : digit)).join("");
  if ([lower, lower.toUpperCase(), checksum].includes(digits)) return address;
  throw new UsageError(`${text} has a wrong checksum (EIP-55); its digits give 0x${checksum}.`);
}
