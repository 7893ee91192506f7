"""How are results shown? Tables in Markdown, plots as SVG, and one HTML page that needs nothing else."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from hi2.errors import MissingExtra
from hi2.evaluation.measures import Measure
from hi2.evaluation.plan import Plan, parse_toml
from hi2.evaluation.trial import CLOCKED, CLOCKED_BRIEFLY, K

Line = dict[str, Any]
SIGNIFICANT = 0.05


def write(plan: Plan, lines: Sequence[Line], folder: Path) -> Path:
    """Write ``NAME.md`` with its plots beside it, and ``NAME.html`` with everything inside; return the page."""
    text, plots = [f"# {plan.title}", ""], {}
    text += [(f"As {plan.paper} of the paper. " if plan.paper else "") + _how(plan), ""]
    measured = [line for line in lines if "absent" not in line]
    for collection, encoder in dict.fromkeys((line["collection"], line["encoder"]) for line in measured):
        own = [line for line in measured if (line["collection"], line["encoder"]) == (collection, encoder)]
        text += [f"## {collection}, {encoder}", "", _measured_on(own[0], brief=plan.kind == "curves"), ""]
        if plan.kind == "curves" or (plan.kind == "points" and plan.setting is None):
            name = f"{plan.name}-{collection}-{encoder}.svg"
            plots[name] = plot(plan, own)
            text += [f"![{plan.title}: {collection}]({name})", ""]
        text += [points_table(plan, own), "", *(_paper(own[0]) if plan.name == "main" else [])]
    absent = {line["system"]: line["absent"] for line in lines if "absent" in line}
    if absent:
        text += ["Not measured, for want of what they need:", ""]
        text += [f"- {system}: {needs}" for system, needs in absent.items()]
    folder.mkdir(parents=True, exist_ok=True)
    whole = {f"{plan.name}.md": "\n".join(text).rstrip() + "\n", f"{plan.name}.html": as_html("\n".join(text), plots)}
    for name, content in {**plots, **whole}.items():
        part = folder / f"{name}.part"
        part.write_text(content, encoding="utf-8")
        part.replace(folder / name)
    return folder / f"{plan.name}.html"


def _how(plan: Plan) -> str:
    if plan.kind == "curves":
        return "Every system's settings that no other of its own beats on the tuning questions, measured on test."
    if plan.kind == "stress":
        return (
            "Tuned on questions as they are; measured on test questions that were changed, with vectors of their own."
        )
    star = f" A star: differs from {plan.against} (paired t-test, Holm, p < {SIGNIFICANT})." if plan.against else ""
    deep = " Measures beyond 100 are of a deeper search than the timed one." if _deep(plan) else ""
    if plan.setting is not None:
        return "One setting for all, so that only what is compared differs." + star + deep
    return (
        f"Each system at the fastest setting that reaches {plan.goal:.0%} of Flat's Recall@100 on the tuning questions,"
        f" else at its best." + star + deep
    )


def _deep(plan: Plan) -> bool:
    return any(Measure.named(name).k > K for name in plan.measures)


def _measured_on(line: Line, *, brief: bool) -> str:
    machine = line["machine"]
    clocked = min(CLOCKED_BRIEFLY if brief else CLOCKED, line["n_queries"])
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return (
        f"{line['n_docs']:,} documents; {line['n_queries']:,} questions of {line['reported_on']}, tuned on "
        f"{line['tuned_on']}. The first {clocked:,} were timed, one at a time on one thread, medians of three; builds "
        f"and batches with {machine['threads']} threads. {machine['cpu']}, {machine['simd']}; {versions}."
    )


def points_table(plan: Plan, lines: Sequence[Line]) -> str:
    """Return the Markdown table of some lines, best values bold, significant differences starred."""
    names = [*plan.measures, "agreement@10", "agreement@100"]
    parts = any("candidate_recall" in line for line in lines)
    head = ["system", *names, "ms p50", "p95", "p99", "queries/s", "scored", "bytes/doc", "build s", "peak MB"]
    head += ["candidate recall", "codec loss", "clusters / terms / both"] if parts else []
    rows = [[*head, "setting"], ["---", *["---:"] * (len(head) - 1), "---"]]
    best = {name: max(line["measures"][name] for line in lines) for name in names}
    for line in lines:
        row = [line["system"] + (f", {line['variant']}" if "variant" in line else "")]
        for name in names:
            value = line["measures"][name]
            shown = f"{value:.3f}" + ("*" if line.get("p", {}).get(name, 1.0) < SIGNIFICANT else "")
            row.append(f"**{shown}**" if value == best[name] and plan.kind == "points" else shown)
        times = line["milliseconds"]
        row += [f"{times['p50']:.3f}", f"{times['p95']:.2f}", f"{times['p99']:.2f}"]
        row += ["" if line["queries_per_second"] is None else f"{line['queries_per_second']:,.0f}"]
        row += ["" if line["scored"] is None else f"{line['scored']:,.0f}"]
        row += [f"{line['bytes'] / line['n_docs']:,.0f}", f"{line['build_seconds']:.1f}"]
        row += ["" if line["build_peak_bytes"] is None else f"{line['build_peak_bytes'] / 1e6:,.0f}"]
        if parts and "candidate_recall" in line:
            row += [f"{line['candidate_recall']:.3f}", f"{line['codec_loss']:.3f}"]
            row += [" / ".join(f"{line[f'by_{side}']:.2f}" for side in ("clusters_only", "terms_only", "both"))]
        elif parts:
            row += ["", "", ""]
        row.append(", ".join(f"{key} {value}" for key, value in line["setting"].items()))
        rows.append(row)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


#: The collections of the paper, by a file that only they have.
_PAPERS = {"collection.tsv": "msmarco", "psgs_w100.tsv": "nq"}


def _paper(line: Line) -> list[str]:
    """The paper's own numbers, where they are of this collection."""
    files = {re.sub(r"\.(gz|xz)$", "", name) for name in line["manifest"]}
    file = resources.files("hi2.evaluation").joinpath("experiments", "paper.toml")
    tables = parse_toml(file.read_text(encoding="utf-8"))
    named = [name for file_name, name in _PAPERS.items() if file_name in files]
    if not named:
        return []
    own = tables[named[0]]
    columns = own.pop("columns")
    rows = [["the paper", *columns], ["---", *["---:"] * len(columns)]]
    rows += [[name, *(str(value) for value in values)] for name, values in own.items()]
    return ["\n".join("| " + " | ".join(row) + " |" for row in rows), ""]


def plot(plan: Plan, lines: Sequence[Line]) -> str:
    """Return some lines as SVG: Recall@100, else the first measure, against the plan's axis, as curves or points."""
    pyplot = _pyplot()
    measure = "R@100" if "R@100" in plan.measures else plan.measures[0]
    with pyplot.rc_context({"svg.hashsalt": plan.name, "svg.fonttype": "none"}):
        figure, axes = pyplot.subplots(figsize=(7, 4.5))
        named: dict[str, tuple[float, float]] = {}
        for system in dict.fromkeys(line["system"] for line in lines):
            pairs = sorted((_cost(plan, line), line["measures"][measure]) for line in lines if line["system"] == system)
            ours = system.startswith("hi2")
            if system == "Flat":
                axes.axhline(pairs[0][1], color="0.5", ls="--", lw=1, label="Flat")
            elif plan.kind == "curves":
                xs, ys = zip(*pairs, strict=True)
                axes.plot(xs, ys, "o-", ms=4, lw=2.5 if ours else 1.2, label=system)
            if plan.kind == "points":
                axes.plot(*pairs[0], "o", ms=7 if ours else 5, color="C3" if ours else "0.4")
                named[system] = pairs[0]
        labels = {"milliseconds": "median ms for one query, one thread", "scored": "share of documents scored"}
        where = f"{lines[0]['collection']}, {lines[0]['encoder']} ({lines[0]['n_docs']:,} documents)"
        axes.set(xlabel=labels[plan.axis], ylabel=measure, title=where)
        plain_log_axis(axes)
        axes.grid(alpha=0.3)
        if plan.kind == "curves":
            axes.legend(fontsize=8)
        figure.tight_layout()
        _name_points(axes, named)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        pyplot.close(figure)
    return out.getvalue()


def _name_points(axes: Any, named: dict[str, tuple[float, float]]) -> None:
    """Write names beside points, each as high as it must stand not to cover another."""
    size, width = 7, 4.2  # points: of the letters, and what one takes on average
    scale = 72 / axes.figure.dpi
    left, right = (x * scale for x in axes.transAxes.transform([(0, 0), (1, 0)])[:, 0])
    taken: list[tuple[float, float, float]] = []
    for name, point in sorted(named.items(), key=lambda item: item[1][1]):
        x, y = (value * scale for value in axes.transData.transform(point))
        long = width * len(name)
        start = x + 5 if x + 5 + long < right else max(left, x - 5 - long)
        height = y + 2
        while any(abs(height - h) < size + 1 and start < end and begin < start + long for begin, end, h in taken):
            height += 1
        taken.append((start, start + long, height))
        axes.annotate(name, point, xytext=(start - x, height - y), textcoords="offset points", fontsize=size)


def plot_curve(curve: Line) -> str:
    """Return a training curve as SVG: every student's loss on the dev queries, as a share of what it was before."""
    pyplot = _pyplot()
    with pyplot.rc_context({"svg.hashsalt": "curve", "svg.fonttype": "none"}):
        figure, axes = pyplot.subplots(figsize=(6, 3.5))
        for name, values in curve["dev"].items():
            axes.plot([value / values[0] if values[0] else 1.0 for value in values], "o-", ms=3, label=name)
        axes.set(xlabel="epoch", ylabel="loss on dev, of the untrained", ylim=(0, None))
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
        figure.tight_layout()
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        pyplot.close(figure)
    return out.getvalue()


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError as error:
        raise MissingExtra("Plots need an extra; install it with: pip install 'hi2[lab]'") from error
    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def plain_log_axis(axes: Any) -> None:
    """Make the x axis logarithmic, marked 0.1, 0.2, 0.5, 1, … and not by powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _cost(plan: Plan, line: Line) -> float:
    if plan.axis == "scored":
        return float(line["scored"] or line["n_docs"]) / float(line["n_docs"])
    return float(line["milliseconds"]["p50"])


_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; font-size: 13px; display: block; overflow-x: auto } th { background: #f3f3f3 }
td, th { padding: .2rem .6rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap }
td:first-child, th:first-child, td:last-child { text-align: left } svg { max-width: 100%; height: auto }
"""


def as_html(text: str, plots: dict[str, str]) -> str:
    """Return the Markdown this module writes (headings, tables, lists, images, paragraphs) as one page."""
    body: list[str] = []
    for block in re.split(r"\n{2,}", text.strip()):
        lines = block.split("\n")
        image = re.fullmatch(r"!\[(.*)\]\((.*)\)", block)
        heading = re.fullmatch(r"(#+) (.*)", block)
        if image:
            svg = plots[image[2]]
            body.append(f"<figure role='img' aria-label='{html.escape(image[1])}'>{svg[svg.index('<svg') :]}</figure>")
        elif heading:
            body.append(f"<h{len(heading[1])}>{_inline(heading[2])}</h{len(heading[1])}>")
        elif lines[0].startswith("| "):
            body.append("<table>" + "".join(_row(line, i) for i, line in enumerate(lines) if i != 1) + "</table>")
        elif lines[0].startswith("- "):
            body.append("<ul>" + "".join(f"<li>{_inline(line[2:])}</li>" for line in lines) + "</ul>")
        else:
            body.append(f"<p>{_inline(' '.join(lines))}</p>")
    title = html.escape(text.split("\n", 1)[0].removeprefix("# "))
    head = f"<meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>{title}</title>"
    head += f"<style>{_STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(body)}</body></html>\n"


def _row(line: str, number: int) -> str:
    kind = "th" if number == 0 else "td"
    return "<tr>" + "".join(f"<{kind}>{_inline(cell)}</{kind}>" for cell in line[2:-2].split(" | ")) + "</tr>"


def _inline(text: str) -> str:
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(text, quote=False))
