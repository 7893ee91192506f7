"""``hi2 experiment``: the paper's tables and figures on your own data."""

from __future__ import annotations

from pathlib import Path

import typer

from hi2.cli.options import FINAL_HELP, QUESTIONS_HELP, settings
from hi2.errors import invalid
from hi2.progress import Progress


def run(
    names: list[str] = typer.Argument(
        help="main, tradeoff, ablation, robustness, codecs, ivf-gap, hybrid, stress, or a .toml file. Several share "
        "builds."
    ),
    data: list[str] = typer.Option(help="Collection: a folder or an ir_datasets id. May be repeated."),
    vectors: list[Path] | None = typer.Option(
        None,
        help="Folder with corpus.npy and queries.npy, one per --data. Repeat it for one --data to compare embeddings.",
    ),
    encoder: list[str] | None = typer.Option(
        None,
        help="Encoder that makes the vectors, besides --vectors or instead. May be repeated to compare encoders.",
    ),
    out: Path = typer.Option(
        help="Folder for results and reports. Results already in it are reported and not measured again."
    ),
    split: str = typer.Option("test", help="Split to report."),
    limit: int | None = typer.Option(None, min=1, help="Use only the first questions of every split."),
    tune_limit: int | None = typer.Option(None, min=1, help="Choose settings on only the first tuning questions."),
    questions: Path | None = typer.Option(None, help=QUESTIONS_HELP),
    final: bool = typer.Option(False, "--final", help=FINAL_HELP),
    systems: list[str] | None = typer.Option(
        None, "--system", help="Measure only this system and Flat. May be repeated."
    ),
    against: str | None = typer.Option(None, help="The system that the others are tested against for significance."),
    expansions: Path | None = typer.Option(None, help="File of predicted questions for DocT5, one line per document."),
    weights: list[str] | None = typer.Option(
        None, help="NAME=FOLDER of term weights or of a model, or NAME=hub. May be repeated."
    ),
    trained: Path | None = typer.Option(
        None, help="Folder with one folder of parts from 'hi2 train' per method: hi2, light, distill-vq, jpq, ivf."
    ),
) -> None:
    """Measure systems side by side and write a report.

    Example:

    hi2 experiment ablation --data scifact --vectors scifact/minilm --out results
    """
    from hi2.evaluation.experiment import run as run_plans
    from hi2.evaluation.inputs import Inputs
    from hi2.evaluation.plan import Plan
    from hi2.evaluation.report import write_report
    from hi2.evaluation.results import Results, collect_lines
    from hi2.evaluation.task import load_task

    plans = [Plan.load(name).for_systems(systems, against) for name in names]
    given = dict(_name_and_source(text) for text in weights or [])
    results, progress = Results(out), Progress(settings.progress)
    inputs = Inputs(expansions, given, out / "weights", trained, progress)
    if vectors and len(data) > 1 and len(vectors) != len(data):
        raise invalid("--vectors", f"one folder for each --data ({len(data)})", len(vectors))
    for i, source in enumerate(data):
        folders = (vectors or []) if len(data) == 1 else (vectors or [])[i : i + 1]
        made = encoder or ([] if folders else ["static"])
        for folder, chosen in [*((folder, "") for folder in folders), *((None, name) for name in made)]:
            task = load_task(
                source,
                vectors=folder,
                encoder=chosen,
                cache=out / "vectors",
                test=split,
                limit=limit,
                tune_limit=tune_limit,
                questions=questions,
                final=final,
                progress=progress,
            )
            run_plans(plans, task, results, inputs, progress)
    for plan in plans:
        typer.echo(f"Wrote {write_report(plan, collect_lines(plan, results), out)} and {plan.name}.md beside it.")


def _name_and_source(text: str) -> tuple[str, str]:
    name, equals, source = text.partition("=")
    if not equals or not source:
        raise invalid("--weights", "NAME=FOLDER, NAME=MODEL or NAME=hub", f"'{text}'")
    return name, source
