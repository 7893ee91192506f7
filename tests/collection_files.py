"""What do the tests of collections share? The files of a small one in every format."""

from __future__ import annotations

import json


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


BEIR = {
    "corpus.jsonl": '{"_id": "d1", "title": "A", "text": "one"}\n{"_id": "d2", "text": "two"}\n',
    "queries.jsonl": '{"_id": "q1", "text": "first"}\n{"_id": "q2", "text": "second"}\n',
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\nq2\td2\t1\n",
}
MSMARCO = {
    "collection.tsv": "7\ta passage\n8\tanother\tone\n",
    "queries.dev.small.tsv": "100\twhat is it\n",
    "queries.train.tsv": "200\twho is it\n",
    "qrels.dev.small.tsv": "100\t0\t8\t1\n",
    "qrels.train.tsv": "200\t0\t7\t1\n",
}
DPR = {
    "psgs_w100.tsv": 'id\ttext\ttitle\n1\t"Zola wrote ""Nana"" in 1880."\tÉmile Zola\n2\tA city, Paris.\tFrance\n',
    "nq-test.qa.csv": 'who wrote nana\t[\'Émile Zola\', \'Zola\']\nwhere\t["Lyon"]\nwho\t"[""Émile""]"\n',
    "nq-dev.jsonl": json.dumps({"question": "which city", "answer": ["paris"]}) + "\n",
}
TOPICS = """<top>
<num> Number: 301
<title> Topic: International
Organized Crime
<desc> Description: what
</top>
"""
TREC = {
    "corpus.tsv": "FT1\tcrime pays\nFT2\tnothing\n",
    "topics.robust.txt": TOPICS,
    "topics.web.txt": "w1\tplain title\n",
    "qrels.robust.txt": "301 0 FT1 1\n301 0 FT2 -1\n",
}
