"""What an operator can do where a chain cannot be asked, for commands.

Senders of batches read the same sentences, and could do nothing of this.
"""

from queries.chain.errors import (
    ChainError,
    FeesTooHigh,
    MethodMissing,
    NodesLie,
    NodesLimited,
    NodesOfAnotherChain,
    NodesRefuse,
    NodesUnreachable,
)

ANOTHER_NODE = "Name another node in ROUTES_FILE."
ADVICE: dict[type[ChainError], str] = {
    NodesUnreachable: "Look whether it runs, and whether `nodes` in ROUTES_FILE has its address.",
    NodesOfAnotherChain: "Correct `nodes` in ROUTES_FILE, or the chain's id.",
    NodesLimited: "Wait, or name a node in ROUTES_FILE that takes more.",
    NodesRefuse: ANOTHER_NODE,
    NodesLie: ANOTHER_NODE,
    MethodMissing: ANOTHER_NODE,
    FeesTooHigh: "Wait, or raise `dearest_gas_gwei`.",
}


def with_advice(error: ChainError) -> str:
    """The error's sentence, and the next thing to do where there is one."""
    return f"{error.sentence} {ADVICE.get(type(error), '')}".rstrip()
