"""What do requests and answers look like? The models from which the OpenAPI document is made."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

DocumentId = Annotated[StrictInt, Field(ge=0, lt=1 << 63)] | StrictStr
Vector = Annotated[list[float], Field(min_length=1, max_length=65_536)]
Payload = dict[str, Any]
Wait = Literal["commit"]


class Given(BaseModel):
    """A request; fields that it does not have are refused."""

    model_config = ConfigDict(extra="forbid")


class Query(Given):
    """One of several queries: a text, a vector, or both."""

    text: str | None = Field(None, description="The question. Without a vector the collection's encoder makes one.")
    vector: Vector | None = Field(None, description="The embedding of the question.")
    filter: str | None = Field(None, description="Such as: year >= 2020 and lang in ('en', 'de')")


class Search(Query):
    """One query, or several in ``queries``, and how to answer them."""

    queries: list[Query] | None = Field(None, description="Several queries, answered together.", min_length=1)
    k: int = Field(10, ge=1, description="How many hits.")
    offset: int = Field(0, ge=0, description="How many of the first hits to skip.")
    profile: str | None = Field(None, description="A setting that tune found.")
    lexical: float | None = Field(None, description="The weight of words; 0 ranks by vectors alone.")
    words: bool = Field(False, description="Rank by words alone, whatever encoder there is.")
    clusters: int | None = Field(None, description="How many clusters to open.")
    terms: int | None = Field(None, description="How many terms to open at most.")
    per_doc: int | None = Field(None, description="Count only so many of the best terms of each document.")
    refine: int | None = Field(None, description="Rescore so many times k hits.")
    budget: int | None = Field(None, description="Score at most so many documents.")
    adaptive: float | None = Field(None, description="Score documents with at least this chance to be among the best.")
    min_score: float | None = Field(None, description="Leave out hits that score less.")
    group_by: str | None = Field(None, description="A payload column: the best hit of each of its values.")
    syntax: bool = Field(False, description="Read +word as required and -word as excluded.")
    explain: bool = Field(False, description="Say of every hit why it was found.")
    include: list[Literal["text", "payload", "snippet"]] = Field(
        default=["text", "payload"], max_length=3, description="What a hit brings along."
    )


class Hit(BaseModel):
    """One document that was found. ``dense`` and ``lexical`` are the parts of its score."""

    id: int | str
    score: float
    dense: float | None = None
    lexical: float | None = None
    text: str | None = None
    payload: Payload | None = None
    snippet: str | None = None
    group: Any = None
    explanation: dict[str, Any] | None = None


class Found(BaseModel):
    """The hits of one query, and how many documents were scored for them."""

    hits: list[Hit]
    n_scored: int


class FoundForEach(BaseModel):
    """The hits of several queries, in their order."""

    results: list[Found]


class Explain(Query):
    """A query, and the document that is to be explained."""

    id: DocumentId
    against: DocumentId | None = Field(None, description="Another document: which of the two is ahead, and why.")
    k: int = Field(10, ge=1)
    lexical: float | None = None
    words: bool = False
    clusters: int | None = None
    terms: int | None = None
    per_doc: int | None = None
    refine: int | None = None
    budget: int | None = None
    adaptive: float | None = None
    syntax: bool = False


class Explained(BaseModel):
    """Why a document was found or not: in words, and as data."""

    text: str
    explanation: dict[str, Any]


class Content(Given):
    """What a document holds. One without a vector gets one from the encoder, or is found by words alone."""

    text: str | None = None
    vector: Vector | None = None
    payload: Payload = Field(default_factory=dict)


class Document(Content):
    """A document with its id."""

    id: DocumentId


class Documents(Given):
    """Several documents. Those whose ids exist are replaced."""

    documents: list[Document] = Field(min_length=1)


class Stored(BaseModel):
    """A document as the collection keeps it."""

    id: int | str
    text: str | None = None
    payload: Payload = Field(default_factory=dict)


class NewPayload(Given):
    """The keys of a payload to change; None makes a value null, and other keys stay."""

    payload: Payload = Field(min_length=1)


class Changed(BaseModel):
    """How many documents a change concerned, and whether it is durable."""

    n: int
    durable: bool


class BulkAnswer(Changed):
    """What became of a bulk request: documents written, lines that were refused, and the first reasons."""

    n_refused: int
    refused: list[str]


class NewCollection(Given):
    """An empty collection: with vectors of a dimension, or with an encoder that makes them from text."""

    dim: int | None = Field(None, ge=1, le=65_536)
    encoder: str | None = Field(None, description="The name of an encoder of this server, such as 'static'.")
    metric: Literal["inner_product", "cosine"] = "inner_product"
    keep_text: bool = True
    columns: dict[str, str] | None = Field(None, description="Types of payload columns; 'other' is not filtered on.")


class CollectionInfo(BaseModel):
    """A collection in short."""

    name: str
    documents: int
    dim: int
    encoder: str | None
    profiles: list[str]
    columns: dict[str, str]
    writable: bool


class Collections(BaseModel):
    """The collections of a server."""

    collections: list[CollectionInfo]


class Facet(BaseModel):
    """The values of a column and how many documents have each, the most frequent first."""

    values: list[tuple[Any, int]]


class Problem(BaseModel):
    """Why a request was refused."""

    detail: str
