/** Bytes in hex, as viem and ethers write them. */
export type Hex = `0x${string}`;
