"""How does a language model use an index? Through an MCP server with three tools: search, get and explain.

The extra ``mcp`` installs what it needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from hi2.errors import Error, MissingExtra, described, invalid
from hi2.index import HybridIndex
from hi2.types import Id
from hi2.version import __version__

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.types import ToolAnnotations
    from pydantic import BaseModel, Field
except ImportError as error:
    raise MissingExtra("The MCP SDK is not installed; install it with: pip install 'hi2[mcp]'") from error

#: One call returns at most so many hits or documents.
MAX_RESULTS = 50
#: A text is cut at so many characters; ``get`` returns the next ones.
MAX_CHARACTERS = 20_000
_MAX_QUERY = 10_000
_READS_ONLY = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)

Query = Annotated[str, Field(min_length=1, max_length=_MAX_QUERY, description="What to look for, in plain words.")]
Count = Annotated[int, Field(ge=1, le=MAX_RESULTS, description="How many documents to return.")]
Filter = Annotated[
    str | None, Field(description="A condition on the payload, such as: year >= 2020 and lang in ('en', 'de')")
]
Name = Annotated[str, Field(min_length=1, max_length=1000, description="The id of a document.")]
Names = Annotated[list[Name], Field(min_length=1, max_length=MAX_RESULTS, description="The ids of documents.")]
Start = Annotated[int, Field(ge=0, description="Skip so many characters of each text.")]


class FoundDocument(BaseModel):
    """One hit."""

    id: str
    score: float
    snippet: str | None
    payload: dict[str, Any]


class SearchResult(BaseModel):
    """The hits of a query, best first."""

    hits: list[FoundDocument]
    n_documents: int


class StoredDocument(BaseModel):
    """What the index stores of a document; ``n_characters`` is the length of its whole text."""

    id: str
    found: bool
    text: str | None = None
    n_characters: int = 0
    payload: dict[str, Any] = {}


class GetResult(BaseModel):
    """Documents in the order of the ids."""

    documents: list[StoredDocument]


class ExplainResult(BaseModel):
    """Why a document was found or not, in words and as data."""

    explanation: str
    details: dict[str, Any]


def make_server(index: HybridIndex, name: str = "hi2") -> MCPServer:
    """Return an MCP server whose tools search an index, get its documents and explain its ranking.

    Nothing can be changed through it. The index needs an encoder to be searched by meaning; without one, words alone
    rank.
    """
    if not isinstance(index, HybridIndex):
        raise invalid("index", "a HybridIndex", described(index))
    server = MCPServer(
        name,
        version=__version__,
        log_level="WARNING",
        instructions="Search the documents of this index, read the best ones with get, and cite them by id.",
    )

    def search(query: Query, k: Count = 10, filter: Filter = None) -> SearchResult:
        """Find the documents that fit a query best, by meaning and words."""
        hits = _answered(lambda: index.search(query, k=k, filter=filter))
        found = [
            FoundDocument(id=str(hit.id), score=hit.score, snippet=hit.snippet, payload=hit.payload) for hit in hits
        ]
        return SearchResult(hits=found, n_documents=len(index))

    def get(ids: Names, start: Start = 0) -> GetResult:
        """Return the text and payload of documents. Long texts are cut; ask again with a later start."""
        known = _answered(lambda: index.get(_own_ids(index, ids), None))
        return GetResult(documents=[_stored(id, own, start) for id, own in zip(ids, known, strict=True)])

    def explain(query: Query, id: Name, k: Count = 10) -> ExplainResult:
        """Say why a document is, or is not, among the best of a query."""
        why = _answered(lambda: index.explain(query, id=_own_ids(index, [id])[0], k=k))
        return ExplainResult(explanation=str(why), details=why.to_dict())

    for tool in (search, get, explain):
        server.add_tool(tool, annotations=_READS_ONLY)
    return server


def run(path: str | Path, *, encoder: Any = None, trust_encoder: bool = False, name: str | None = None) -> None:
    """Serve the index at ``path`` over standard input and output until the client leaves.

    The index is opened for reading, and later commits are seen within a second.
    """
    index = HybridIndex.open(path, encoder=encoder, trust_encoder=trust_encoder, refresh=1.0)
    make_server(index, name or Path(path).stem or "hi2").run("stdio")


def _answered(call: Any) -> Any:
    """The result of a call; what the index refuses is said to the model."""
    try:
        return call()
    except Error as error:
        raise ToolError(str(error)) from error


def _own_ids(index: HybridIndex, ids: list[str]) -> list[Id]:
    """The ids as the index has them."""
    return index.parse_ids(ids)


def _stored(id: str, document: Mapping[str, Any] | None, start: int) -> StoredDocument:
    if document is None:
        return StoredDocument(id=id, found=False)
    text = document.get("text")
    shown = None if text is None else text[start : start + MAX_CHARACTERS]
    return StoredDocument(
        id=id, found=True, text=shown, n_characters=len(text or ""), payload=document.get("payload", {})
    )
