"""How are results shown? As Markdown tables, SVG plots and a self-contained HTML page."""

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
from hi2.evaluation.quality import KS, TOLERANCE, TURN, search_depth
from hi2.evaluation.trial import N_TIMED_QUESTIONS, N_TIMED_QUESTIONS_BRIEF, K

Line = dict[str, Any]
SIGNIFICANCE_LEVEL = 0.05


def write_report(plan: Plan, lines: Sequence[Line], folder: Path) -> Path:
    """Write ``NAME.md`` with its plots as files, and ``NAME.html`` with its plots inside. Return the HTML page."""
    text, plots = [f"# {plan.title}", ""], {}
    text += [(f"Corresponds to {plan.paper} of the paper. " if plan.paper else "") + _method_note(plan), ""]
    measured = [line for line in lines if "absent" not in line]
    for collection, encoder in dict.fromkeys((line["collection"], line["encoder"]) for line in measured):
        own = [line for line in measured if (line["collection"], line["encoder"]) == (collection, encoder)]
        text += [f"## {collection}, {encoder}", "", _conditions_note(plan, own[0]), ""]
        if plan.kind in ("curves", "quality") or (plan.kind == "points" and plan.setting is None):
            name = f"{plan.name}-{collection}-{encoder}.svg"
            plots[name] = plot(plan, own)
            text += [f"![{plan.title}: {collection}]({name})", ""]
        table = quality_table if plan.kind == "quality" else results_table
        text += [table(plan, own), "", *(_paper_table(own[0]) if plan.name == "main" else [])]
    absent = {line["system"]: line["absent"] for line in lines if "absent" in line}
    if absent:
        text += ["Not measured, because an input was missing:", ""]
        text += [f"- {system}: {needs}" for system, needs in absent.items()]
    folder.mkdir(parents=True, exist_ok=True)
    whole = {f"{plan.name}.md": "\n".join(text).rstrip() + "\n", f"{plan.name}.html": as_html("\n".join(text), plots)}
    for name, content in {**plots, **whole}.items():
        part = folder / f"{name}.part"
        part.write_text(content, encoding="utf-8")
        part.replace(folder / name)
    return folder / f"{plan.name}.html"


def _method_note(plan: Plan) -> str:
    if plan.kind == "curves":
        return (
            "Each system at several settings, measured on the test questions. The settings are those that no other "
            "setting of the same system beats in both recall and time on the tuning questions."
        )
    if plan.kind == "stress":
        return (
            "Each system is tuned on the original questions and measured on changed test questions. Changed questions "
            "are encoded again."
        )
    notes = []
    if plan.kind == "quality":
        notes += _quality_notes(plan)
    elif plan.setting is not None:
        notes.append("All indexes use the same search setting, so that only the compared part differs.")
    else:
        notes.append(
            f"Each system at the fastest setting that reaches {plan.goal:.0%} of Flat's Recall@100 on the tuning "
            "questions. If none does, at the setting with the highest recall."
        )
    if plan.against:
        notes.append(
            f"A star marks a significant difference from {plan.against} (paired t-test with Holm's correction, "
            f"p < {SIGNIFICANCE_LEVEL})."
        )
    if plan.kind != "quality" and any(Measure.named(name).k > K for name in plan.measures):
        notes.append(f"Measures deeper than {K} come from a second, deeper search that is not timed.")
    return " ".join(notes)


def _quality_notes(plan: Plan) -> list[str]:
    """Say how settings were chosen, and that this differs from the other experiments."""
    searches = ", ".join(f"{name} from searches for {search_depth(Measure.named(name))} hits" for name in plan.measures)
    return [
        f"Each system at the setting with the highest {plan.choose} on the tuning questions, the fastest of those "
        f"within {TOLERANCE}. (The other experiments take the fastest setting that reaches a share of Flat's "
        "Recall@100.)",
        f"A graph inside a fusion searches with the fastest efSearch that alone reaches {plan.goal:.0%} of Flat's "
        "Recall@100 on the tuning questions.",
        f"Measures: {searches}, at the same setting.",
    ]


def _conditions_note(plan: Plan, line: Line) -> str:
    machine = line["machine"]
    n_timed = min(N_TIMED_QUESTIONS_BRIEF if plan.kind == "curves" else N_TIMED_QUESTIONS, line["n_queries"])
    turns = f"; the systems take turns of {TURN} questions" if plan.kind == "quality" else ""
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    threads = f"{machine['threads']} thread" + ("" if machine["threads"] == 1 else "s")
    return (
        f"{line['n_docs']:,} documents; {line['n_queries']:,} questions of {line['reported_on']}, tuned on "
        f"{line['tuned_on']}. Latency: the first {n_timed:,} questions, one at a time on one thread, median of three "
        f"passes{turns}. Builds and batches use {threads}. {machine['cpu']}, {machine['simd']}; {versions}."
    )


def results_table(plan: Plan, lines: Sequence[Line]) -> str:
    """Return the Markdown table of some lines, with the best values in bold and significant differences starred."""
    names = [*plan.measures, "agreement@10", "agreement@100"]
    parts = any("candidate_recall" in line for line in lines)
    head = ["system", *names, "ms p50", "p95", "p99", "queries/s", "scored", "bytes/doc", "build s", "peak MB"]
    head += ["candidate recall", "codec loss", "clusters / terms / both"] if parts else []
    rows = [[*head, "setting"], ["---", *["---:"] * (len(head) - 1), "---"]]
    best = {name: max(line["measures"][name] for line in lines) for name in names}
    for line in lines:
        row = [line["system"] + (f", {line['variant']}" if "variant" in line else "")]
        row += [_value_cell(line, name, best[name] if plan.kind == "points" else None) for name in names]
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
        row.append(_setting_cell(line))
        rows.append(row)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def quality_table(plan: Plan, lines: Sequence[Line]) -> str:
    """Return the Markdown table of systems at their best settings: quality, latency by number of hits, and size."""
    head = ["system", *plan.measures, *(f"ms, k = {k}" for k in KS), "bytes/doc"]
    rows = [[*head, "setting"], ["---", *["---:"] * (len(head) - 1), "---"]]
    best = {name: max(line["measures"][name] for line in lines) for name in plan.measures}
    for line in lines:
        row = [line["system"], *(_value_cell(line, name, best[name]) for name in plan.measures)]
        row += [f"{line['milliseconds_by_k'][str(k)]['p50']:.3f}" for k in KS]
        row += [f"{line['bytes'] / line['n_docs']:,.0f}", _setting_cell(line)]
        rows.append(row)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _value_cell(line: Line, name: str, best: float | None) -> str:
    value = line["measures"][name]
    shown = f"{value:.3f}" + ("*" if line.get("p", {}).get(name, 1.0) < SIGNIFICANCE_LEVEL else "")
    return f"**{shown}**" if value == best else shown


def _setting_cell(line: Line) -> str:
    return ", ".join(f"{key} {value}" for key, value in line["setting"].items())


#: The collections of the paper, recognised by a file that only they have.
_PAPER_COLLECTIONS = {"collection.tsv": "msmarco", "psgs_w100.tsv": "nq"}


def _paper_table(line: Line) -> list[str]:
    """Return the paper's own numbers if the paper measured this collection."""
    files = {re.sub(r"\.(gz|xz)$", "", name) for name in line["manifest"]}
    file = resources.files("hi2.evaluation").joinpath("experiments", "paper.toml")
    tables = parse_toml(file.read_text(encoding="utf-8"))
    named = [name for file_name, name in _PAPER_COLLECTIONS.items() if file_name in files]
    if not named:
        return []
    own = tables[named[0]]
    columns = own.pop("columns")
    rows = [["the paper", *columns], ["---", *["---:"] * len(columns)]]
    rows += [[name, *(str(value) for value in values)] for name, values in own.items()]
    return ["\n".join("| " + " | ".join(row) + " |" for row in rows), ""]


def plot(plan: Plan, lines: Sequence[Line]) -> str:
    """Return an SVG plot of a measure against the plan's axis, as curves or points.

    The measure is the one that settings were chosen by, else Recall@100, else the first.
    """
    pyplot = _pyplot()
    measure = "R@100" if "R@100" in plan.measures else plan.measures[0]
    hits = ""
    if plan.kind == "quality":
        measure, hits = plan.choose, f", k = {search_depth(Measure.named(plan.choose))}"
    with pyplot.rc_context({"svg.hashsalt": plan.name, "svg.fonttype": "none"}):
        figure, axes = pyplot.subplots(figsize=(7, 4.5))
        named: dict[str, tuple[float, float]] = {}
        for system in dict.fromkeys(line["system"] for line in lines):
            pairs = sorted(
                (_x_value(plan, line), line["measures"][measure]) for line in lines if line["system"] == system
            )
            ours = system.startswith("hi2")
            if system == "Flat":
                axes.axhline(pairs[0][1], color="0.5", ls="--", lw=1, label="Flat")
            elif plan.kind == "curves":
                xs, ys = zip(*pairs, strict=True)
                axes.plot(xs, ys, "o-", ms=4, lw=2.5 if ours else 1.2, label=system)
            if plan.kind in ("points", "quality"):
                axes.plot(*pairs[0], "o", ms=7 if ours else 5, color="C3" if ours else "0.4")
                named[system] = pairs[0]
        labels = {"milliseconds": f"median ms for one query, one thread{hits}", "scored": "share of documents scored"}
        where = f"{lines[0]['collection']}, {lines[0]['encoder']} ({lines[0]['n_docs']:,} documents)"
        axes.set(xlabel=labels[plan.axis], ylabel=measure, title=where)
        plain_log_axis(axes)
        axes.grid(alpha=0.3)
        if plan.kind == "curves":
            axes.legend(fontsize=8)
        if named:
            axes.margins(y=0.12)  # room for the names of the highest points
        figure.tight_layout()
        _label_points(axes, named)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        pyplot.close(figure)
    return out.getvalue()


def _label_points(axes: Any, named: dict[str, tuple[float, float]]) -> None:
    """Write a name beside each point, moved up until it overlaps no other name."""
    size, width = 7, 4.2  # in points: the font size, and the average width of a letter
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
    """Return an SVG plot of every student's loss on the dev queries, relative to its loss before training."""
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
    """Make the x axis logarithmic, with ticks at 0.1, 0.2, 0.5, 1, … instead of powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _x_value(plan: Plan, line: Line) -> float:
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
    """Return this module's Markdown (headings, tables, lists, images, paragraphs) as one HTML page."""
    body: list[str] = []
    for block in re.split(r"\n{2,}", text.strip()):
        lines = block.split("\n")
        image = re.fullmatch(r"!\[(.*)\]\((.*)\)", block)
        heading = re.fullmatch(r"(#+) (.*)", block)
        if image:
            svg = plots[image[2]]
            body.append(f"<figure role='img' aria-label='{html.escape(image[1])}'>{svg[svg.index('<svg') :]}</figure>")
        elif heading:
            body.append(f"<h{len(heading[1])}>{_inline_html(heading[2])}</h{len(heading[1])}>")
        elif lines[0].startswith("| "):
            body.append("<table>" + "".join(_html_row(line, i) for i, line in enumerate(lines) if i != 1) + "</table>")
        elif lines[0].startswith("- "):
            body.append("<ul>" + "".join(f"<li>{_inline_html(line[2:])}</li>" for line in lines) + "</ul>")
        else:
            body.append(f"<p>{_inline_html(' '.join(lines))}</p>")
    title = html.escape(text.split("\n", 1)[0].removeprefix("# "))
    head = f"<meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>{title}</title>"
    head += f"<style>{_STYLE}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(body)}</body></html>\n"


def _html_row(line: str, number: int) -> str:
    kind = "th" if number == 0 else "td"
    return "<tr>" + "".join(f"<{kind}>{_inline_html(cell)}</{kind}>" for cell in line[2:-2].split(" | ")) + "</tr>"


def _inline_html(text: str) -> str:
    return re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(text, quote=False))
