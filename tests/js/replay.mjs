// Replays transactions that a local node has mined under other forks' rules. Each line of the input is
// a transaction, its block and the state before it, as the node reports them; each line of the output
// is the gas that it takes by fork. Input and output are JSON.
import { createInterface } from "node:readline";

import { createBlock } from "@ethereumjs/block";
import { Hardfork, Mainnet, createCustomCommon } from "@ethereumjs/common";
import { SimpleStateManager } from "@ethereumjs/statemanager";
import { createTxFromRPC } from "@ethereumjs/tx";
import { createAccount, createAddressFromString, hexToBytes } from "@ethereumjs/util";
import { createVM, runTx } from "@ethereumjs/vm";

const FORKS = { osaka: Hardfork.Osaka, amsterdam: Hardfork.Amsterdam };

async function stateOf(prestate, common) {
  const state = new SimpleStateManager({ common });
  for (const [name, { balance, nonce = 0, code, storage = {} }] of Object.entries(prestate)) {
    const address = createAddressFromString(name);
    await state.putAccount(address, createAccount({ balance: BigInt(balance ?? 0), nonce: BigInt(nonce) }));
    if (code) await state.putCode(address, hexToBytes(code));
    for (const [slot, word] of Object.entries(storage)) {
      if (BigInt(word)) await state.putStorage(address, hexToBytes(slot), hexToBytes(word));
    }
  }
  return state;
}

async function gasUsed({ transaction, block, prestate }, hardfork) {
  const chainId = Number(transaction.chainId);
  const common = createCustomCommon({ chainId }, Mainnet, { hardfork });
  const { number, timestamp, miner, gasLimit, baseFeePerGas, mixHash } = block;
  const header = { number, timestamp, coinbase: miner, gasLimit, baseFeePerGas, mixHash };
  const result = await runTx(await createVM({ common, stateManager: await stateOf(prestate, common) }), {
    tx: await createTxFromRPC(transaction, { common }),
    block: createBlock({ header }, { common, skipConsensusFormatValidation: true }),
    skipBlockGasLimitValidation: true,
  });
  if (result.execResult.exceptionError) throw result.execResult.exceptionError;
  return Number(result.totalGasSpent);
}

for await (const line of createInterface({ input: process.stdin })) {
  const mined = JSON.parse(line);
  const gas = {};
  for (const [name, hardfork] of Object.entries(FORKS)) gas[name] = await gasUsed(mined, hardfork);
  console.log(JSON.stringify(gas));
}
