"""Where do the vectors of a collection come from? A folder, or an encoder whose output is kept on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hi2.data.resume import read_mark, write_mark
from hi2.encoders.encoder import Encoder, encode
from hi2.errors import InvalidParameter, invalid
from hi2.progress import Progress
from hi2.types import Floats

#: Texts that are encoded between two checkpoints.
TEXTS_PER_CHECKPOINT = 512


def read_vectors(folder: Path, name: str, n: int, what: str) -> Floats:
    """Read the ``n`` rows of ``folder/name``. A wrong shape or a value that is not finite is refused.

    ``what`` names the rows in errors: documents, queries or texts.
    """
    path = folder / name
    try:
        stored = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, EOFError, ValueError) as error:
        raise invalid("--vectors", f"a folder with {name}", f"'{path}' ({error})") from error
    if not isinstance(stored, np.ndarray):
        raise InvalidParameter(f"{path}: expected one array, got an archive of arrays (.npz).")
    if stored.ndim != 2 or stored.dtype.kind != "f":
        raise InvalidParameter(f"{path}: expected floats of shape (n, dim), got {stored.dtype} {stored.shape}.")
    if len(stored) != n:
        raise InvalidParameter(f"{path}: {len(stored)} rows for {n} {what}; rows stand in the order of the files.")
    vectors: Floats = stored.astype(np.float32)
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise InvalidParameter(f"{path}, row {bad[0]}: not a finite number ({len(bad)} such rows).")
    return vectors


def cached_vectors(path: Path, texts: Sequence[str], encoder: Encoder, progress: Progress) -> Floats:
    """Return an encoder's vectors of ``texts``, kept in ``path`` as float16. Interrupted encoding is resumed."""
    if path.is_file():
        return read_vectors(path.parent, path.name, len(texts), "texts")
    path.parent.mkdir(parents=True, exist_ok=True)
    part, mark = path.with_suffix(".part"), path.with_suffix(".mark")
    first = encode(encoder, texts[:1])
    done = 0
    if part.is_file() and mark.is_file():
        done = read_mark(mark)
        stored = np.lib.format.open_memmap(part, mode="r+")
        if stored.shape != (len(texts), first.shape[1]) or stored.dtype != np.float16:
            done = 0
    if done == 0:
        stored = np.lib.format.open_memmap(part, mode="w+", dtype=np.float16, shape=(len(texts), first.shape[1]))
    with progress.phase(f"encode {path.parent.name}", len(texts)) as phase:
        phase(done)
        for begin in range(done, len(texts), TEXTS_PER_CHECKPOINT):
            batch = texts[begin : begin + TEXTS_PER_CHECKPOINT]
            stored[begin : begin + len(batch)] = encode(encoder, batch, dim=first.shape[1])
            stored.flush()
            write_mark(mark, begin + len(batch))
            phase(len(batch))
    del stored
    part.replace(path)
    mark.unlink(missing_ok=True)
    return read_vectors(path.parent, path.name, len(texts), "texts")
