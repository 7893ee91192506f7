"""What is a collection? One index under a name: a reader for searches, and a writer for changes when they come."""

from __future__ import annotations

import asyncio
import logging
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hi2.errors import Error, InvalidParameter, invalid
from hi2.index import HybridIndex
from hi2.server.change_queue import ChangeQueue
from hi2.server.limits import Limits
from hi2.types import Id, Searcher

_log = logging.getLogger("hi2.server")

SUFFIX = ".hi2"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,99}")
#: A reader looks for commits of other processes this often, in seconds.
_REFRESH = 1.0


class Conflict(Error):
    """What was asked for contradicts what is there."""


class NoSuchCollection(Error):
    """There is no collection of a name."""


class Collection:
    """An index that is served. Searches see the last commit, whoever made it."""

    def __init__(
        self,
        name: str,
        path: Path,
        *,
        limits: Limits,
        trust_encoder: bool = False,
        writable: bool = True,
        droppable: bool = False,
    ) -> None:
        self.name, self.path = name, path
        self.writable, self.droppable = writable, droppable
        self._limits, self._trust_encoder = limits, trust_encoder
        self.index = HybridIndex.open(path, refresh=_REFRESH, trust_encoder=trust_encoder)
        self.changes = self.new_changes()
        self._takes_text = True
        try:
            self.index.encoder  # noqa: B018 - loaded now, not by the first query
        except Error as error:
            self._takes_text = False
            _log.warning("The collection '%s' takes no text without a vector: %s", name, error)

    def check_takes_text(self) -> None:
        """Refuse a text without a vector where the encoder of the index is not here."""
        if not self._takes_text:
            raise InvalidParameter(
                "The encoder of this collection is not on this server. Send a vector, or rank by words alone: "
                "'words': true."
            )

    def new_changes(self) -> ChangeQueue:
        """Return a queue of changes to the index."""
        return ChangeQueue(
            lambda: HybridIndex.open(self.path, "w", trust_encoder=self._trust_encoder),
            self.index.refresh,
            most=self._limits.changes,
        )

    @property
    def searcher(self) -> Searcher:
        """What answers queries."""
        return self.index

    def n_segments(self) -> int:
        """Return how many segments the index has."""
        return int(self.index.health()["segments"])

    def encoder_name(self) -> str | None:
        """Return the name of the encoder that makes vectors from text; None without one."""
        identity = self.index.model.encoder
        return None if identity is None else identity.name

    def describe(self) -> dict[str, Any]:
        """Return the collection in short."""
        return {
            "name": self.name,
            "documents": len(self.index),
            "dim": self.index.dim,
            "encoder": self.encoder_name(),
            "profiles": list(self.index.profiles),
            "columns": self.index.column_types().kinds,
            "writable": self.writable,
        }

    def id_from_path(self, text: str) -> Id:
        """Return an id as the index has it: an integer where its ids are integers."""
        return self.index.parse_ids([text])[0]


class Collections:
    """All collections of a server, by name. New ones are made in ``folder``."""

    def __init__(
        self,
        paths: list[Path],
        *,
        limits: Limits,
        folder: Path | None = None,
        encoders: Mapping[str, Any] | None = None,
        trust_encoder: bool = False,
        writable: bool = True,
    ) -> None:
        self._limits, self._folder, self._writable = limits, folder, writable
        self._trust_encoder = trust_encoder
        #: The encoders that a new collection may name.
        self.encoders = dict(encoders or {})
        self._by_name: dict[str, Collection] = {}
        #: Names that are being made or dropped.
        self._changing: set[str] = set()
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        made = [] if folder is None else sorted(own for own in folder.glob(f"*{SUFFIX}") if own.is_dir())
        for path in [*paths, *(own for own in made if own.resolve() not in {given.resolve() for given in paths})]:
            name = name_of(path)
            if name in self._by_name:
                both = f"'{self._by_name[name].path}' and '{path}'"
                raise invalid("INDEX", "folders of different names: the name is that of the collection", both)
            self._by_name[name] = self._opened(name, path)

    def _opened(self, name: str, path: Path) -> Collection:
        droppable = self._folder is not None and path.parent.resolve() == self._folder.resolve()
        return Collection(
            name,
            path,
            limits=self._limits,
            trust_encoder=self._trust_encoder,
            writable=self._writable,
            droppable=droppable,
        )

    def __iter__(self) -> Iterator[Collection]:
        return iter(list(self._by_name.values()))

    def get(self, name: str) -> Collection:
        """Return a collection; NoSuchCollection if there is none of this name."""
        found = self._by_name.get(name)
        if found is None:
            raise NoSuchCollection(f"There is no collection '{name[:100]}'.")
        return found

    async def create(self, name: str, *, dim: int | None, encoder: str | None, **specs: Any) -> Collection:
        """Make an empty collection in the folder of the server."""
        if self._folder is None or not self._writable:
            raise Conflict("This server makes no collections: it was started without --folder, or with --read-only.")
        if not _NAME.fullmatch(name):
            raise invalid("name", "letters, digits, '-', '_' and '.', 100 at most", repr(name[:100]))
        path = self._folder / f"{name}{SUFFIX}"
        if name in self._by_name or name in self._changing or path.exists():
            raise Conflict(f"There is a collection '{name}' already. Drop it first, or choose another name.")
        if (dim is None) == (encoder is None):
            raise InvalidParameter("A collection needs one of 'dim' and 'encoder'.")
        if encoder is not None and encoder not in self.encoders:
            raise invalid("encoder", f"one of {', '.join(sorted(self.encoders))}", repr(encoder[:100]))
        made = None if encoder is None else self.encoders[encoder]

        def make() -> Collection:
            HybridIndex.create(dim=dim, encoder=made, path=path, **specs).close()
            return self._opened(name, path)

        self._changing.add(name)
        try:
            self._by_name[name] = await asyncio.get_running_loop().run_in_executor(None, make)
        finally:
            self._changing.discard(name)
        return self._by_name[name]

    async def drop(self, name: str) -> None:
        """Remove a collection and its documents for good. One that was given by its path stays."""
        found = self.get(name)
        if not found.droppable or not self._writable:
            raise Conflict(f"The collection '{name}' is not in the server's folder, so it is not dropped over HTTP.")
        if name in self._changing:
            raise Conflict(f"The collection '{name}' is being dropped.")

        def remove() -> None:
            HybridIndex.open(found.path, "w").close()  # refused while another process writes to it
            aside = found.path.with_name(f".{found.path.name}.dropped")
            shutil.rmtree(aside, ignore_errors=True)
            found.path.rename(aside)  # it is gone for others at once; searches that run have its files open
            shutil.rmtree(aside)

        self._changing.add(name)
        try:
            await found.changes.close()
            await asyncio.get_running_loop().run_in_executor(None, remove)
            del self._by_name[name]
        except BaseException:
            found.changes = found.new_changes()  # it stays, and can be changed again
            raise
        finally:
            self._changing.discard(name)

    async def close(self) -> None:
        """Commit what waits and release all locks."""
        for collection in self:
            await collection.changes.close()


def name_of(path: Path) -> str:
    """Return the name of the collection that an index is: that of its folder without ``.hi2``."""
    name = path.resolve().name.removesuffix(SUFFIX)
    if not _NAME.fullmatch(name):
        raise invalid("INDEX", "a folder whose name has letters, digits, '-', '_' and '.' only", repr(str(path)))
    return name
