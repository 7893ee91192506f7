"""How does a language model use an index? This client starts the MCP server of an index and calls its tools."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from mcp import Client, StdioServerParameters

import hi2

TEXTS = {
    "form": "Form EY-3209 is for travel costs.",
    "flight": "Flights are booked by the office.",
    "leave": "You have thirty days of holiday.",
}


async def ask(path: Path) -> None:
    """Search, read and explain through the server."""
    # On the command line: hi2 mcp INDEX
    serve = "import sys; from hi2.integrations.mcp import run; run(sys.argv[1])"
    process = StdioServerParameters(command=sys.executable, args=["-c", serve, str(path)])
    async with Client(process) as client:
        print("Tools:", ", ".join(tool.name for tool in (await client.list_tools()).tools))
        found = (await client.call_tool("search", {"query": "vacation", "k": 1})).structured_content
        best = found["hits"][0]["id"]
        print("Found:", best)
        read = (await client.call_tool("get", {"ids": [best]})).structured_content
        print("Text: ", read["documents"][0]["text"])
        why = (await client.call_tool("explain", {"query": "vacation", "id": "form"})).structured_content
        print("Why:  ", why["explanation"].splitlines()[0])


def main() -> None:
    """Build a small index and ask it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "handbook.hi2"
        hi2.HybridIndex.build(
            texts=list(TEXTS.values()), ids=list(TEXTS), encoder=hi2.StaticEncoder(), path=path, progress=False
        ).close()
        asyncio.run(ask(path))


if __name__ == "__main__":
    main()
