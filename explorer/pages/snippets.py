"""How anyone reads a fact from its registry, ready to be copied. RPC, a node, is theirs to name."""

from dataclasses import dataclass

from queries.reading.facts import FactKind, FactView


@dataclass(frozen=True, slots=True)
class Argument:
    """What the function takes, and what it is given."""

    type: str
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class RegistryCall:
    """The function of the registry that returns the fact, or reverts where it is not proven."""

    function: str
    returns: str
    arguments: tuple[Argument, ...]

    @property
    def types(self) -> str:
        return ",".join(each.type for each in self.arguments)

    @property
    def declared(self) -> str:
        return ", ".join(f"{each.type} {each.name}" for each in self.arguments)


@dataclass(frozen=True, slots=True)
class Snippet:
    """In one language."""

    key: str
    label: str
    text: str


def registry_call(fact: FactView) -> RegistryCall:
    account = Argument("address", "account", fact.account)
    block = Argument("uint256", "blockNumber", f"{fact.block}")
    field = Argument("uint8", "field", f"{fact.key}")
    match fact.kind:
        case FactKind.ACCOUNT_FIELD:
            return RegistryCall("accountField", "bytes32", (account, block, field))
        case FactKind.STORAGE_SLOT:
            slot = Argument("bytes32", "slot", f"0x{fact.key:064x}")
            return RegistryCall("accountStorageSlotValues", "bytes32", (account, block, slot))
        case FactKind.HEADER_FIELD:
            return RegistryCall("headerField", "bytes32", (block, field))
        case _:
            seconds = Argument("uint256", "timestamp", f"{fact.key}")
            return RegistryCall("blockNumberAt", "uint256", (seconds,))


def snippets(fact: FactView, registry: str) -> tuple[Snippet, ...]:
    call = registry_call(fact)
    return (
        Snippet("cast", "cast", _cast(call, registry)),
        Snippet("web3py", "web3.py", _web3_py(call, registry, fact.destination)),
        Snippet("viem", "viem", _viem(call, registry, fact.destination)),
        Snippet("solidity", "Solidity", _solidity(call, registry, fact)),
    )


def _cast(call: RegistryCall, registry: str) -> str:
    values = " ".join(each.value for each in call.arguments)
    signature = f"{call.function}({call.types})({call.returns})"
    return f'cast call {registry} \\\n  "{signature}" \\\n  {values} \\\n  --rpc-url "$RPC"'


def _web3_py(call: RegistryCall, registry: str, chain: int) -> str:
    inputs = "\n".join(
        f'            {{"name": "{each.name}", "type": "{each.type}"}},' for each in call.arguments
    )
    quoted = {"address", "bytes32"}
    values = ", ".join(
        f'"{each.value}"' if each.type in quoted else each.value for each in call.arguments
    )
    number = 'int.from_bytes(word, "big")' if call.returns == "bytes32" else "word"
    return f"""\
import os

from web3 import Web3

web3 = Web3(Web3.HTTPProvider(os.environ["RPC"]))  # a node of chain {chain}
registry = web3.eth.contract(
    address="{registry}",
    abi=[{{
        "type": "function",
        "name": "{call.function}",
        "stateMutability": "view",
        "inputs": [
{inputs}
        ],
        "outputs": [{{"name": "", "type": "{call.returns}"}}],
    }}],
)
word = registry.functions.{call.function}({values}).call()
print({number})"""


def _viem(call: RegistryCall, registry: str, chain: int) -> str:
    values = ", ".join(_in_javascript(each) for each in call.arguments)
    return f"""\
import {{ createPublicClient, http, parseAbi }} from "viem";

// RPC: a node of chain {chain}
const client = createPublicClient({{ transport: http(process.env.RPC) }});
const word = await client.readContract({{
  address: "{registry}",
  abi: parseAbi([
    "function {call.function}({call.declared}) view returns ({call.returns})",
  ]),
  functionName: "{call.function}",
  args: [{values}],
}});
console.log(BigInt(word));"""


def _in_javascript(argument: Argument) -> str:
    if argument.type == "uint256":
        return f"{argument.value}n"
    return argument.value if argument.type == "uint8" else f'"{argument.value}"'


def _solidity(call: RegistryCall, registry: str, fact: FactView) -> str:
    word = f"REGISTRY.{call.function}(\n            {_in_solidity(call)}\n        )"
    number = f"uint256({word})" if call.returns == "bytes32" else word
    return f"""\
// SPDX-License-Identifier: MIT
pragma solidity ^0.8.0;

interface IFactsRegistry {{
    function {call.function}({call.declared})
        external
        view
        returns ({call.returns});
}}

/// On chain {fact.destination}
contract Reader {{
    IFactsRegistry constant REGISTRY = IFactsRegistry({registry});

    /// {fact.name}; reverts while it is not proven
    function read() external view returns (uint256) {{
        return {number};
    }}
}}"""


def _in_solidity(call: RegistryCall) -> str:
    return ", ".join(each.value for each in call.arguments)
