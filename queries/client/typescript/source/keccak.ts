import { UsageError } from "./errors.ts";
import type { Hex } from "./hex.ts";

const RATE = 136; // of Keccak-256: bytes a block
const LANE = 2n ** 64n - 1n;

/** Ethereum's hash. Web Crypto has no SHA-3, whose padding differs anyway. */
export function keccak256(content: Uint8Array): Uint8Array {
  const padded = new Uint8Array(content.length + RATE - (content.length % RATE));
  padded.set(content);
  padded[content.length]! |= 0x01;
  padded[padded.length - 1]! |= 0x80;
  const view = new DataView(padded.buffer);
  let lanes = new Array<bigint>(25).fill(0n);
  for (let start = 0; start < padded.length; start += RATE) {
    for (let lane = 0; lane < RATE / 8; lane++) lanes[lane]! ^= view.getBigUint64(start + 8 * lane, true);
    lanes = permute(lanes);
  }
  const hash = new DataView(new ArrayBuffer(32));
  lanes.slice(0, 4).forEach((lane, index) => hash.setBigUint64(8 * index, lane, true));
  return new Uint8Array(hash.buffer);
}

/** Keccak-f[1600], named as in FIPS 202; the lane A[x, y] has index x + 5y. */
function permute(lanes: bigint[]): bigint[] {
  let register = 1;
  for (let round = 0; round < 24; round++) {
    // theta
    const columns = [0, 1, 2, 3, 4].map((x) => [0, 5, 10, 15, 20].reduce((sum, y) => sum ^ lanes[x + y]!, 0n));
    lanes = lanes.map((lane, x) => lane ^ columns[(x + 4) % 5]! ^ rotateLeft(columns[(x + 1) % 5]!, 1));
    // rho and pi
    let [x, y, lane] = [1, 0, lanes[1]!];
    for (let t = 1; t < 25; t++) {
      [x, y] = [y, (2 * x + 3 * y) % 5];
      [lane, lanes[x + 5 * y]] = [lanes[x + 5 * y]!, rotateLeft(lane, (t * (t + 1)) / 2)];
    }
    // chi
    const mixed = lanes;
    lanes = mixed.map((lane, index) => {
      const row = index - (index % 5);
      return lane ^ (~mixed[row + ((index + 1) % 5)]! & mixed[row + ((index + 2) % 5)]! & LANE);
    });
    // iota
    for (let bit = 0; bit < 7; bit++) {
      register = ((register << 1) ^ ((register >> 7) * 0x71)) % 256;
      lanes[0]! ^= BigInt((register >> 1) & 1) << ((1n << BigInt(bit)) - 1n);
    }
  }
  return lanes;
}

function rotateLeft(lane: bigint, bits: number): bigint {
  const shift = BigInt(bits % 64);
  return ((lane << shift) | (lane >> (64n - shift))) & LANE;
}

/** @internal */
export function parseHex(text: string): Uint8Array {
  if (!/^0x([0-9a-fA-F]{2})*$/.test(text)) throw new UsageError(`'${text}' is not 0x-hex, two digits for each byte.`);
  return Uint8Array.from(text.slice(2).match(/../g) ?? [], (digits) => parseInt(digits, 16));
}

/** @internal */
export function toHex(bytes: Uint8Array): Hex {
  return `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** @internal */
export function hashHex(hex: string): Hex {
  return toHex(keccak256(parseHex(hex)));
}

/** @internal The number as 32 bytes in hex. */
export function toWord(value: bigint | number | string): Hex {
  return `0x${BigInt.asUintN(256, BigInt(value)).toString(16).padStart(64, "0")}`;
}
