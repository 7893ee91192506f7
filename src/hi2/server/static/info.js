// How is the index? Counts, bytes by part, how even its lists are, drift since the fit, and advice.

import { bar, bytes, count, counted, element, table } from "./dom.js";

const PARTS = {
  bags: "words of the documents",
  ids: "order of ids",
  id_characters: "ids",
  clusters: "cluster lists",
  copies: "further clusters",
  codes: "codes of vectors",
  refine: "finer vectors",
  stored: "text and payload",
  notes: "notes of rare words",
  terms: "term lists",
  model: "model",
  alive: "marks of deletion",
  other: "other",
};
const round = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const percent = new Intl.NumberFormat("en", { style: "percent", minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** The index view as a list of elements. */
export function indexView(info) {
  const stack = (...cards) => element("div", { class: "stack" }, ...cards);
  return [stack(health(info), drift(info), counts(info)), stack(sizes(info), lists(info)), parts(info)];
}

function card(title, ...children) {
  return element("section", { class: "card" }, element("h2", {}, title), ...children);
}

function health(info) {
  const advice = info.health?.advice ?? [];
  if (!advice.length) {
    const said = info.n_docs ? "All is well: nothing needs to be done." : "The index is empty.";
    return card("Health", element("p", { class: "well" }, said));
  }
  return card("Health", element("ul", { class: "advice" }, ...advice.map((line) => element("li", {}, line))));
}

function counts(info) {
  const filed = info.n_docs + info.n_deleted;
  const facts = [
    ["Documents", count(info.n_docs)],
    ["Segments", count(info.n_segments)],
    ["Deleted, not merged away", info.n_deleted ? `${count(info.n_deleted)} (${percent.format(info.n_deleted / filed)})` : "0"],
    ["Without a vector", count(info.n_without_vector)],
    ["Dimension", count(info.dim)],
    ["Metric", String(info.metric).replace("_", " ")],
    ["Bytes", bytes(info.bytes.total)],
    ["Bytes per document*", count(Math.round(info.bytes_per_doc))],
    ["Generation", info.generation === null ? "in memory" : count(info.generation)],
    ["Searches with text", count(info.searches?.with_text ?? 0)],
  ];
  const pairs = facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  return card("In short", element("dl", { class: "facts" }, ...pairs), element("p", { class: "hint" }, "* Without text, payload, ids and model."));
}

function sizes(info) {
  const { total, ...own } = info.bytes;
  const sorted = Object.entries(own).sort(([, a], [, b]) => b - a);
  const largest = Math.max(...sorted.map(([, n]) => n), 1);
  const rows = sorted.map(([part, n]) => [
    element("span", {}, PARTS[part] ?? part, " ", element("code", {}, part)),
    bar(["dense", n / largest]),
    bytes(n),
    percent.format(total ? n / total : 0),
  ]);
  const made = table(`${bytes(total)} in all`, ["Part", "", "Bytes", "Share"], rows, [2, 3]);
  made.classList.add("sizes");
  return card("Bytes by part", made);
}

function lists(info) {
  const rows = ["clusters", "terms"]
    .filter((kind) => info[kind])
    .map((kind) => {
      const own = info[kind];
      return [kind, count(own.n_lists), count(own.empty), round.format(own.mean), count(own.longest), round.format(own.imbalance)];
    });
  if (!rows.length) {
    return null;
  }
  const headings = ["Lists", "Number", "Empty", "Mean length", "Longest", "Imbalance"];
  const hint = "Imbalance 1 means lists of equal length. At 4, a document is in a list that is four times the mean.";
  return card(
    "How even the lists are",
    element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "How even the lists are" },
      table("Documents per list", headings, rows, [1, 2, 3, 4, 5])),
    element("p", { class: "hint" }, hint),
  );
}

function drift(info) {
  const { added = 0, df, average_length: length, ...others } = info.drift ?? {};
  const errors = info.health?.quantisation;
  const lines = [
    added ? `${counted(added, "document")} came after the fit.` : "No document came after the fit.",
    df === undefined ? null : `Frequencies of terms have moved by ${percent.format(df)}.`,
    length === undefined ? null : `Added texts are ${round.format(length)} times as long as the fitted ones.`,
    errors ? `Codes of added documents err ${round.format(errors.ratio)} times as much as those of the fitted ones.` : null,
    ...Object.entries(others).map(([name, value]) => `${name}: ${typeof value === "number" ? round.format(value) : JSON.stringify(value)}`),
  ];
  return card("Drift since the fit", ...lines.filter(Boolean).map((line) => element("p", {}, line)));
}

function parts(info) {
  const rows = Object.entries(info.parts ?? {}).map(([name, spec]) => [name, element("code", {}, spec === null ? "none" : String(spec))]);
  rows.push(["instructions", element("code", {}, String(info.simd))]);
  const made = table("What the index was built with", ["Part", "Setting"], rows);
  made.classList.add("specs");
  return card("Parts", made);
}
