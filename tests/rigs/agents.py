"""Talk to an MCP server, as an agent does."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from mcp import Client, StdioServerParameters

Result = TypeVar("Result")


def converse(
    command: StdioServerParameters, conversation: Callable[[Client], Awaitable[Result]]
) -> Result:
    """Run the command and talk to it; return what the conversation returns."""

    async def run() -> Result:
        async with Client(command) as client:
            return await conversation(client)

    with ThreadPoolExecutor(1) as thread:  # a browser's tests leave a loop in the main thread
        return thread.submit(asyncio.run, run()).result()
