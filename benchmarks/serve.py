"""How many searches a second does the server answer, and what happens when there are too many?

    python benchmarks/serve.py hotpotqa
    python benchmarks/serve.py hotpotqa --overload 600

The load comes from wrk (Debian's package), a compiled program, on the same machine. Requests are JSON with a vector and
a text, or a text for the built-in encoder, for 10 hits with text and payload. Beside them the same searches in process,
one after another and in batches. With ``--overload`` seconds, twice as many requests as the server answered are sent in
that time, at a fixed rate, whatever becomes of them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import hi2
from hi2.evaluation.collections import open_collection

CONNECTIONS, SECONDS, N_QUERIES = 16, 10, 1000

#: Sends the lines of a file in turn. With a rate, a thread waits before each request so that all together keep it.
SCRIPT = """
local bodies, at = {}, 0
for line in io.lines(os.getenv("BODIES")) do bodies[#bodies + 1] = line end
local pause = tonumber(os.getenv("PAUSE") or "0")
local number = 0
function setup(thread) number = number + 1; thread:set("at", number * 37) end
function request()
  at = at % #bodies + 1
  return wrk.format("POST", nil, {["Content-Type"] = "application/json"}, bodies[at])
end
if pause > 0 then
  function delay() return math.floor(pause * (0.5 + math.random())) end
end
local statuses = {}
function response(status) statuses[status] = (statuses[status] or 0) + 1 end
"""


@contextmanager
def server(*indexes: Path):
    """Yield the address and the process of a server."""
    command = [sys.executable, "-m", "hi2.cli", "serve", *map(str, indexes), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        for line in process.stderr:
            if found := re.search(r"http://\S+(?=/)", line):
                yield found[0], process
                break
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def load(
    url: str, bodies: Path, seconds: float, *, connections: int = CONNECTIONS, pause: float = 0
) -> dict[str, float]:
    """Return what wrk measured."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(SCRIPT)
        script.flush()
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds:.0f}s", "--latency", "-s", script.name, url]
        environment = {**os.environ, "BODIES": str(bodies), "PAUSE": str(pause)}
        said = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    asked = int(re.search(r"(\d+) requests in", said)[1])
    return {
        "per second": float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1]),
        "refused": (int(refused[1]) if refused else 0) / max(asked, 1),
        **{f"p{own}": _milliseconds(re.search(rf"{own}%\s+([\d.]+\w+)", said)[1]) for own in (50, 99)},
    }


def _milliseconds(text: str) -> float:
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text).groups()
    return float(number) * {"us": 0.001, "ms": 1, "s": 1000, "m": 60_000}[unit]


def prepare(folder: Path, work: Path) -> tuple[list[Path], list[Path], np.ndarray, list[str]]:
    """Build both indexes; return them, the files of requests, and the queries."""
    source = open_collection(folder)
    documents = list(source.documents())
    ids, texts = [own.id for own in documents], [own.text for own in documents]
    payload = [{"length": len(text)} for text in texts]
    paths = [work / "vectors.hi2", work / "texts.hi2"]
    given = np.load(folder / "minilm" / "corpus.npy", mmap_mode="r", allow_pickle=False)
    common = {"ids": ids, "payload": payload, "progress": False}
    hi2.HybridIndex.build(given, texts, path=paths[0], **common).close()
    hi2.HybridIndex.build(texts=texts, encoder=hi2.StaticEncoder(), path=paths[1], **common).close()
    queries = list(source.queries().values())
    rows = np.random.default_rng(0).permutation(len(queries))[:N_QUERIES]
    vectors = np.load(folder / "minilm" / "queries.npy", mmap_mode="r", allow_pickle=False)[np.sort(rows)].astype(
        np.float32
    )
    asked = [queries[row] for row in np.sort(rows)]
    bodies = [work / "vectors.jsonl", work / "texts.jsonl"]
    with_vectors = ({"text": text, "vector": own.tolist(), "k": 10} for text, own in zip(asked, vectors, strict=True))
    bodies[0].write_text("".join(json.dumps(own) + "\n" for own in with_vectors))
    bodies[1].write_text("".join(json.dumps({"text": text, "k": 10}) + "\n" for text in asked))
    return paths, bodies, vectors, asked


def in_process(path: Path, vectors: np.ndarray | None, texts: list[str]) -> tuple[float, float]:
    """Return searches per second, texts and payloads read: one at a time on one thread; batches of 32 on all."""
    index = hi2.HybridIndex.open(path)
    asked = [(text, None) if vectors is None else (vectors[i], text) for i, text in enumerate(texts)]
    for own in asked[:50]:
        index.search(*own)
    begin = time.perf_counter()
    for own in asked:
        index.search(*own, k=10, threads=1).to_dicts()
    alone = len(asked) / (time.perf_counter() - begin)
    begin = time.perf_counter()
    for at in range(0, len(texts), 32):
        some = slice(at, at + 32)
        batch = (texts[some], None) if vectors is None else (vectors[some], texts[some])
        index.search(*batch, k=10).to_dicts()
    return alone, len(texts) / (time.perf_counter() - begin)


def memory(process: subprocess.Popen) -> float:
    """Return the resident memory of a process that is not of files, in MB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) / 1024


def overload(url: str, body: Path, capacity: float, seconds: float, process: subprocess.Popen) -> None:
    """Send twice as many requests as the server can answer; say what became of them, and of the memory."""
    connections, pause = 256, 1000 * 256 / (2 * capacity)
    for _ in range(4):  # the pause that gives this rate is found by trying
        found = load(url, body, 3, connections=connections, pause=pause)
        spent = 1000 * connections / found["per second"]
        pause = max(pause + 1000 * connections / (2 * capacity) - spent, 0.5)
    before = memory(process)
    probe = Probe(url, body.read_bytes().splitlines()[0])
    probe.start()
    grown = []
    left = seconds
    while left > 0:
        part = min(left, 60)
        found = load(url, body, part, connections=connections, pause=pause)
        grown.append(memory(process))
        left -= part
        admitted = found["per second"] * (1 - found["refused"])
        print(
            f"  {found['per second']:,.0f} requests/s, {admitted:,.0f} admitted, {found['refused']:.0%} refused; "
            f"p50 {found['p50']:.1f} ms, p99 {found['p99']:.1f} ms; {grown[-1]:.0f} MB ({before:.0f} before)",
            flush=True,
        )
    metrics = urllib.request.urlopen(url.partition("/v1")[0] + "/metrics").read().decode()
    print("  status:", dict(re.findall(r'hi2_requests_total\{route="[^"]*search",status="(\d+)"\} (\S+)', metrics)))
    probe.stop.set()
    probe.join()
    print(f"  a client beside it: {probe.summary()}")


class Probe(threading.Thread):
    """A client that asks one question after another, and measures those that are answered."""

    def __init__(self, url: str, body: bytes) -> None:
        super().__init__()
        self._request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        self.stop = threading.Event()
        self._seconds: list[float] = []
        self._statuses: dict[int, int] = {}

    def run(self) -> None:
        while not self.stop.wait(0.01):
            begin = time.perf_counter()
            try:
                with urllib.request.urlopen(self._request) as answer:
                    answer.read()
                self._seconds.append(time.perf_counter() - begin)
                status = 200
            except urllib.error.HTTPError as error:
                error.close()
                status = error.code
            self._statuses[status] = self._statuses.get(status, 0) + 1

    def summary(self) -> str:
        p50, p99 = 1000 * np.percentile(self._seconds or [0], [50, 99])
        return f"answers in {p50:.1f} ms (median) and {p99:.1f} ms (p99), with a new connection each; {self._statuses}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("collection")
    parser.add_argument("--overload", type=float, default=0, metavar="SECONDS")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    folder = Path(os.environ["HI2_DATA"]) / given.collection
    with tempfile.TemporaryDirectory() as temporary:
        paths, bodies, vectors, texts = prepare(folder, Path(temporary))
        with server(*paths) as (url, process):
            targets = [f"{url}/v1/collections/{path.stem}/search" for path in paths]
            pairs = list(zip(targets, bodies, strict=True))
            found = [[load(*pair, given.seconds) for pair in pairs] for _ in range(given.repeats)]
            for number, name in enumerate(("vector and text", "text, built-in encoder")):
                rows = [own[number] for own in found]
                alone, batched = in_process(paths[number], vectors if number == 0 else None, texts)
                middle = {key: float(np.median([row[key] for row in rows])) for key in rows[0]}
                print(
                    f"{name}: {middle['per second']:,.0f} searches/s at {CONNECTIONS} connections, "
                    f"p50 {middle['p50']:.1f} ms, p99 {middle['p99']:.1f} ms, {middle['refused']:.1%} refused; "
                    f"in process {alone:,.0f} one at a time, {batched:,.0f} in batches",
                    flush=True,
                )
            if given.overload:
                capacity = float(np.median([own[0]["per second"] for own in found]))
                print(f"overload: {2 * capacity:,.0f} requests/s", flush=True)
                overload(targets[0], bodies[0], capacity, given.overload, process)


if __name__ == "__main__":
    main()
