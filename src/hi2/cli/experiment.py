"""``hi2 experiment``: the paper's tables and figures on one's own data."""

from __future__ import annotations

from pathlib import Path

import typer

from hi2.cli.options import settings
from hi2.errors import invalid
from hi2.progress import Progress


def run(
    names: list[str] = typer.Argument(
        help="main, tradeoff, ablation, robustness, codecs, ivf-gap, stress, or a .toml file; several build once."
    ),
    data: list[str] = typer.Option(help="Collection: a folder or an ir_datasets id; give it again for another."),
    vectors: list[Path] | None = typer.Option(
        None, help="Folder with corpus.npy and queries.npy, one for each --data; several compare embeddings."
    ),
    encoder: list[str] | None = typer.Option(
        None,
        help="Encoder that makes (and keeps) vectors, beside or instead of given ones; several compare.",
    ),
    out: Path = typer.Option(help="Folder for results and reports; what it holds is shown too and not measured again."),
    split: str = typer.Option("test", help="Split that is reported."),
    limit: int | None = typer.Option(None, min=1, help="Only the first questions of every split."),
    systems: list[str] | None = typer.Option(None, "--system", help="Only these systems, beside Flat."),
    against: str | None = typer.Option(None, help="The system that others are tested against."),
    expansions: Path | None = typer.Option(None, help="Predicted questions for DocT5, one line a document."),
    weights: list[str] | None = typer.Option(None, help="NAME=FOLDER of term weights or of a model, NAME=hub."),
    trained: Path | None = typer.Option(
        None, help="Folder with the parts of 'hi2 train' in folders named by method: hi2, light, distill-vq, jpq, ivf."
    ),
) -> None:
    """Measure systems side by side and write a report.

    Example: hi2 experiment ablation --data scifact --vectors scifact/minilm --out results
    """
    from hi2.evaluation.experiment import run as run_plans
    from hi2.evaluation.inputs import Inputs
    from hi2.evaluation.plan import Plan
    from hi2.evaluation.report import write
    from hi2.evaluation.results import Results, gathered
    from hi2.evaluation.task import load_task

    plans = [Plan.load(name).only(systems, against) for name in names]
    given = dict(_pair(text) for text in weights or [])
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
                progress=progress,
            )
            run_plans(plans, task, results, inputs, progress)
    for plan in plans:
        typer.echo(f"Wrote {write(plan, gathered(plan, results), out)} and {plan.name}.md beside it.")


def _pair(text: str) -> tuple[str, str]:
    name, equals, source = text.partition("=")
    if not equals or not source:
        raise invalid("--weights", "NAME=FOLDER, NAME=MODEL or NAME=hub", f"'{text}'")
    return name, source
