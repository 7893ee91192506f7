"""Through which stages do the first documents of an index go? Read and check, fit, draft, write."""

from __future__ import annotations

from collections.abc import Callable

from hi2.arguments import boolean
from hi2.codecs import default_codecs
from hi2.encoders.encoder import Encoder, EncoderIdentity
from hi2.errors import invalid
from hi2.ingest.documents import NewDocuments, collect, term_reader
from hi2.ingest.fit import Specs, fit_model
from hi2.ingest.new_segment import file_documents
from hi2.progress import Progress
from hi2.state.drift import Added
from hi2.state.index_state import State
from hi2.state.model import Model
from hi2.state.segment import Segment
from hi2.state.snapshot import EMPTY
from hi2.store.writer import WriteSegment


def ingest(
    new: NewDocuments,
    specs: Specs,
    *,
    encoder: Encoder | None,
    put: Callable[[Model, WriteSegment], Segment],
    threads: int,
    progress: Progress,
) -> State:
    """Return the first state of an index of these documents; ``put`` says where their segment is written."""
    reader = term_reader(specs.terms)
    keep_text = False if new.keep_text is None else boolean("keep_text", new.keep_text)
    documents = collect(
        new.vectors,
        new.texts,
        ids=new.ids,
        term_weights=new.term_weights,
        payload=new.payload,
        keep_text=keep_text,
        metric=specs.metric,
        dim=None,
        reader=reader,
        encoder=encoder,
        first_id=0,
        progress=progress,
    )
    codec, refine = default_codecs(specs.codec, specs.refine, documents.vectors.n)
    model = fit_model(
        documents,
        metric=specs.metric,
        clusters=specs.clusters,
        terms=specs.terms,
        reader=reader,
        codec=codec,
        refine=refine,
        bags=boolean("bags", specs.bags),
        encoder=_identity(encoder, documents.vectors.dim),
        threads=threads,
        progress=progress,
    )
    segment = put(model, file_documents(model, documents, threads=threads, progress=progress))
    return State(model, EMPTY.plus(segment), Added(), documents.ids.next_integer(), keep_text)


def _identity(encoder: Encoder | None, dim: int) -> EncoderIdentity | None:
    if encoder is None:
        return None
    identity = EncoderIdentity.of(encoder)
    if len(identity.probe) != dim:
        raise invalid("encoder", f"one that makes vectors of dimension {dim}", f"dimension {len(identity.probe)}")
    return identity
