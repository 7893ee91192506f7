"""``hi2 eval``: measure one system on one collection, or a run made elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from hi2.cli.options import FINAL_HELP, QUESTIONS_HELP, settings
from hi2.progress import Progress

DEFAULT_MEASURES = "RR@10,nDCG@10,R@100"


def run(
    data: str = typer.Option(help="Collection: a folder or an ir_datasets id."),
    system: str = typer.Option("hi2", help="The system to build and search."),
    vectors: Path | None = typer.Option(None, help="Folder with corpus.npy and queries.npy."),
    encoder: str = typer.Option("static", help="Encoder that makes the vectors if none are given."),
    run_file: Path | None = typer.Option(None, "--run", help="Measure this TREC run instead of building a system."),
    save_run: Path | None = typer.Option(None, help="Write the hits as a TREC run."),
    split: str = typer.Option("test", help="Split to report."),
    limit: int | None = typer.Option(None, min=1, help="Use only the first questions of every split."),
    questions: Path | None = typer.Option(None, help=QUESTIONS_HELP),
    final: bool = typer.Option(False, "--final", help=FINAL_HELP),
    measures: str = typer.Option(DEFAULT_MEASURES, help="Any of RR@k, nDCG@k, R@k and Success@k, separated by commas."),
    cache: Path = typer.Option(Path("vectors"), help="Folder in which the vectors of an encoder are kept."),
) -> None:
    """Measure one system on one collection.

    Examples:

    hi2 eval --data scifact --save-run run.txt

    hi2 eval --data scifact --run run.txt
    """
    from hi2.evaluation.measures import Measure

    named = [Measure.named(name.strip()) for name in measures.split(",")]
    if run_file is not None:
        _print_json(_judge_run(data, run_file, split, named, questions, final))
        return
    from hi2.arguments import thread_count
    from hi2.evaluation.inputs import Inputs
    from hi2.evaluation.plan import Plan
    from hi2.evaluation.runs import write_run
    from hi2.evaluation.task import load_task
    from hi2.evaluation.trial import K, Trial

    plan = Plan.load("main").for_systems([system])
    task = load_task(
        data,
        vectors=vectors,
        encoder=encoder,
        cache=cache,
        test=split,
        limit=limit,
        questions=questions,
        final=final,
        progress=Progress(settings.progress),
    )
    threads = thread_count(None)
    flat = Trial.build(_make_system(Inputs(), "Flat", task), task, threads=threads)
    exact = flat.rows(task.test, {}, K)
    goal = plan.goal * flat.tuning_recall()
    trial = flat if system == "Flat" else Trial.build(_make_system(Inputs(), system, task), task, threads=threads)
    trial.tune_part(goal)
    outcome = trial.measure(trial.tune(goal).setting, named, exact)
    if save_run is not None:
        found = {id: [task.ids[row] for row in rows] for id, rows in zip(task.test.ids, outcome.rows, strict=True)}
        write_run(save_run, system.replace(" ", "-"), found)
    _print_json(
        {
            "system": system,
            "collection": task.name,
            "encoder": task.encoder,
            "reported_on": f"{task.test.split} ({len(task.test.ids):,})",
            "tuned_on": f"{task.tune.split} ({len(trial.tuning_questions.ids):,})",
            **outcome.to_json(),
            "bytes_per_doc": trial.peer.n_bytes / len(task.ids),
            "build_seconds": trial.build_seconds,
        }
    )


def _make_system(inputs: Any, name: str, task: Any) -> Any:
    from hi2.errors import invalid
    from hi2.evaluation.peers import PEERS

    if name not in PEERS:
        raise invalid("--system", f"one of {', '.join(PEERS)}", f"'{name}'")
    system = inputs.system(name, task)
    if system is None:
        raise invalid(
            "--system", f"one that needs no more than the collection ({name}: {PEERS[name].needs})", f"'{name}'"
        )
    return system


def _judge_run(
    data: str, run_file: Path, split: str, measures: list[Any], questions: Path | None, final: bool
) -> dict[str, Any]:
    from hi2.errors import InvalidParameter
    from hi2.evaluation.collections import open_collection
    from hi2.evaluation.question_lists import reported_list
    from hi2.evaluation.runs import read_run

    collection = open_collection(data)
    listed = reported_list(questions, collection.name, split, final=final)
    split = split if listed is None else listed.split
    passages = {document.id: document.text for document in collection.documents()}
    judged, found = collection.judgements(split, passages=passages), read_run(run_file)
    asked = judged.queries
    if listed is not None:
        listed.check_judged(asked)
        asked = listed.ids
    known = set(judged.queries)
    for query, ids in found.items():
        if query not in known:
            raise InvalidParameter(f"{run_file}: the query {query!r} is not judged in {split}.")
        unknown = next((id for id in ids if id not in passages), None)
        if unknown is not None:
            raise InvalidParameter(f"{run_file}: the document {unknown!r} of query {query!r} is not in the collection.")
    values = {str(m): [m(judged.gains(q, found.get(q, [])), judged.ideal(q)) for q in asked] for m in measures}
    means = {name: sum(own) / len(own) for name, own in values.items()}
    reported_on = split if listed is None else str(listed)
    named = {"run": str(run_file), "collection": collection.name, "reported_on": reported_on}
    return {**named, "queries": len(asked), "measures": means}


def _print_json(report: dict[str, Any]) -> None:
    typer.echo(json.dumps(report, indent=1, ensure_ascii=False))
