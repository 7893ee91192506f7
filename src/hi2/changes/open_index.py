"""What does an open index hold? Its current state, the one way to replace it, its writer and its encoder."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hi2.arguments import folder_path, real
from hi2.data.fork import make_locks
from hi2.encoders import Encoder, permitted_encoder
from hi2.encoders.encoder import EncoderIdentity
from hi2.encoders.permitted import check_trust
from hi2.errors import Error, FormatError, NotFound, ReadOnly, described, invalid
from hi2.search.search_counts import SearchCounts
from hi2.state.index_state import State
from hi2.state.model import Model
from hi2.store.folder import Folder
from hi2.store.manifest import read_manifest
from hi2.store.named_files import Stored
from hi2.store.reader import read_index
from hi2.store.writer import Writer

_log = logging.getLogger("hi2")


class OpenIndex:
    """One index in this process. A search reads ``state`` once; a change replaces it in one assignment."""

    def __init__(
        self,
        state: State,
        *,
        writer: Writer | None = None,
        stored: Stored | None = None,
        encoder: Encoder | None = None,
        trust_encoder: bool = False,
        mmap: bool = True,
        refresh: float | None = None,
    ) -> None:
        self.state = state
        #: Writes to the folder; None in memory or for reading only.
        self.writer = writer
        #: The state of the last commit; None in memory.
        self.stored = stored
        self.search_counts = SearchCounts()
        #: The encoder that the caller gave, or the one that was loaded.
        self.given_encoder = encoder
        #: Whether an encoder may be loaded because the index names it.
        self.trust_encoder = trust_encoder
        #: Whether files are mapped.
        self.mmap = mmap
        #: Seconds after which a search looks for a later commit, and when it looks next.
        self._refresh = refresh
        self._next_look = 0.0 if refresh is None else time.monotonic() + refresh
        #: Set when a merge failed; merges on disk are tried again after the next commit.
        self.merges_put_off = False
        #: After a fit that could not be done, none is tried by itself until there are so many documents.
        self.no_fit_before = 0
        self.closed = False
        make_locks(self)

    def renew_locks(self) -> None:
        """Make the locks of changes and merges. A fork leaves the state of before or after a change."""
        self._change = threading.RLock()
        #: Held while segments are merged, which does not keep other threads from changing the index.
        self.merging = threading.Lock()
        self._refreshing = threading.Lock()

    @contextmanager
    def changing(self) -> Iterator[State]:
        """Yield the state that is about to be replaced, while no other thread changes it."""
        if self.stored is not None and self.writer is None:
            raise ReadOnly(f"{self.stored.folder} was opened for reading. Open it with mode='w' to change it.")
        with self._change:
            if self.closed:
                raise ReadOnly("The index was closed. Open it again with mode='w' to change it.")
            yield self.state

    @contextmanager
    def learning(self) -> Iterator[State]:
        """Yield the state as ``changing`` does; if it is not replaced, forget the words that were learned meanwhile."""
        with self.changing() as state:
            tokenizer: Any = None if state.model.terms is None else state.model.terms.tokenizer
            n_words = 0 if tokenizer is None else tokenizer.n_terms
            try:
                yield state
            except BaseException:
                if tokenizer is not None and self.state is state and tokenizer.n_terms > n_words:
                    # A reader of this state may still know them, but no document has them, and the next state has
                    # readers of its own.
                    tokenizer.forget(n_words)
                raise

    def current(self) -> State:
        """Return the state to read: of the last commit, if it is time to look for one."""
        if self._refresh is not None and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + self._refresh
            if not self._refreshing.locked():  # another thread is looking otherwise
                try:
                    self.refresh()
                except (Error, OSError) as error:  # what is open can still be searched
                    _log.warning("A later commit could not be read: %s", error)
        return self.state

    def refresh(self) -> bool:
        """Bring a reader to the last commit, and return whether there was a later one. A writer is there already."""
        if self.stored is None or self.writer is not None:
            return False
        with self._refreshing:
            return self._refresh_now(self.stored)

    def _refresh_now(self, before: Stored) -> bool:
        if before.folder.is_in_place():
            after = read_index(before.folder, mmap=self.mmap, known=before)
        else:  # another index was written in the place of this one
            after = read_index(_open(before.folder.path), mmap=self.mmap)
            _check_encoder(after.state.model, self.given_encoder)
        if after is before:
            return False
        self.stored, self.state = after, after.state
        _log.info("Refreshed %s: commit %d.", after.folder, after.manifest["generation"])
        return True

    def way_back(self) -> tuple[str, bool, Encoder | None, bool, float | None]:
        """Return what opens the same index in another process: its path, and how it was opened here."""
        if self.stored is None:
            raise Error("An index in memory cannot be pickled: save(path) it, open it there, and pickle that.")
        if self.state is not self.stored.state:
            raise Error(f"{self.stored.folder} has changes that are not committed; commit() before it is pickled.")
        return str(self.stored.folder.path), self.mmap, self.given_encoder, self.trust_encoder, self._refresh

    def changeable_state(self) -> State:
        """Return the state of an index that accepts changes; refuse one that does not, before any work is done."""
        with self.changing() as state:
            return state

    def close(self) -> None:
        """Release the writer's lock. Changes since the last commit are lost, and no more are accepted."""
        if self.writer is not None:
            with self.merging, self._change:
                self.writer.close()
                self.closed = True

    def encoder(self) -> Encoder | None:
        """Return what makes vectors from text, loaded when it is first needed; None if the index has none.

        An encoder that was not given is used only if it is built in, registered or trusted.
        """
        identity = self.state.model.encoder
        if self.given_encoder is None and identity is not None:
            self.given_encoder = permitted_encoder(identity, trust=self.trust_encoder)
        return self.given_encoder


def open_folder(
    path: str | Path,
    mode: str,
    *,
    mmap: bool,
    encoder: Encoder | None,
    trust_encoder: bool = False,
    refresh: float | None = None,
) -> OpenIndex:
    """Open an index on disk for reading ("r") or for writing ("w")."""
    trust = check_trust(trust_encoder)
    if refresh is not None:
        refresh = real("refresh", refresh, low=0.0, high=1e9)
        if mode != "r":
            raise invalid("refresh", "left out where mode is 'w': a writer makes the commits", refresh)
    if not isinstance(mode, str) or mode not in ("r", "w"):
        raise invalid("mode", "'r' or 'w'", described(mode))
    if not isinstance(mmap, bool):
        raise invalid("mmap", "True or False", described(mmap))
    folder = _open(folder_path("path", path))
    if mode == "r":
        stored = read_index(folder, mmap=mmap)
        _check_encoder(stored.state.model, encoder)
        return OpenIndex(stored.state, stored=stored, encoder=encoder, trust_encoder=trust, mmap=mmap, refresh=refresh)
    read_manifest(folder)  # a folder that is not an index gets no lock file
    try:
        writer = Writer(folder, mmap=mmap)
    except OSError as error:
        raise Error(f"{folder} cannot be opened for writing: {error}.") from error
    try:
        stored = read_index(folder, mmap=mmap)
        _check_encoder(stored.state.model, encoder)
        writer.adopt(stored)
    except BaseException:
        writer.close()
        raise
    return OpenIndex(stored.state, writer=writer, stored=stored, encoder=encoder, trust_encoder=trust, mmap=mmap)


def _open(path: Path) -> Folder:
    try:
        return Folder.open(path)
    except FileNotFoundError as error:
        raise NotFound(f"{path} is not a hi2 index: there is no such folder.") from error
    except NotADirectoryError as error:
        raise FormatError(f"{path} is not a hi2 index: it is a file, and an index is a folder.") from error
    except OSError as error:
        raise FormatError(f"{path} cannot be opened: {error}.") from error


def _check_encoder(model: Model, encoder: Encoder | None) -> None:
    if encoder is not None and model.encoder is not None:
        model.encoder.check(encoder)
    elif encoder is not None:
        EncoderIdentity.check_dim(encoder, model.dim)
