// What does a hit look like, and why was it found? Its passage, its two scores, and the lists that led to it.

import { bar, count, element, score, shown, table } from "./dom.js";

const MARK = "**";
const MOST_FIELDS = 12;

/** One hit as an item of the list. `largest` is the score of a full bar; `why` loads the explanation. */
export function hitItem(hit, { rank, largest, why }) {
  const id = `hit-${rank}`;
  const title = typeof hit.payload?.title === "string" && hit.payload.title.trim() ? hit.payload.title : null;
  const heading = element("h3", { id, class: title === null ? "no-title" : null }, title ?? String(hit.id));
  const key = title === null ? null : element("span", { class: "id" }, String(hit.id));
  const head = element("div", { class: "head" }, element("span", { class: "rank" }, String(rank)), heading, key);
  const panel = element("div", { class: "why", id: `why-${rank}`, role: "region", "aria-label": "Why this was found" });
  panel.hidden = true;
  const ask = element(
    "button",
    { type: "button", class: "link why-button", "aria-expanded": "false", "aria-controls": panel.id, "aria-label": `Why? ${title ?? hit.id}` },
    "why?",
  );
  ask.addEventListener("click", () => toggleWhy(ask, panel, why));
  const item = element("li", { class: "hit", tabindex: "-1", "aria-labelledby": id });
  const foot = element("div", { class: "foot" }, scores(hit, largest), ask);
  const passage = element("p", { class: "snippet" }, ...marked(hit.snippet ?? "", hit.text ?? ""));
  if (hit.text && /^… | …$/.test(hit.snippet ?? "")) {
    foot.append(wholeText(hit, passage));
  }
  item.append(head, ...[hit.snippet ? passage : null, fields(hit.payload), foot, panel].filter(Boolean));
  return item;
}

/** A button that shows all of a text of which the passage is a part. */
function wholeText(hit, passage) {
  const button = element("button", { type: "button", class: "link", "aria-expanded": "false" }, "full text");
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(open));
    passage.classList.toggle("whole", open);
    passage.replaceChildren(...(open ? [hit.text] : marked(hit.snippet, hit.text)));
  });
  return button;
}

/**
 * The pieces of a snippet, with <mark> around words that matched. A text may have ** itself, so the snippet is read
 * along the text: what both have is text, what only the snippet has is a mark.
 */
export function marked(snippet, text) {
  const pieces = alongText(snippet, text) ?? alternating(snippet);
  return pieces.filter(([own]) => own).map(([own, isMark]) => (isMark ? element("mark", {}, own) : own));
}

const alternating = (snippet) => snippet.split(MARK).map((own, at) => [own, at % 2 === 1]);

function alongText(snippet, text) {
  const plain = text.split(/\s+/).filter(Boolean).join(" ");
  if (!plain.includes(MARK)) {
    return null;
  }
  const body = snippet.replace(/^… /, "").replace(/ …$/, "");
  const begin = snippet.startsWith("… ") ? 1 : 0;
  for (let at = begin ? plain.indexOf(" ") + 1 : 0; at >= 0 && at < plain.length; at = plain.indexOf(" ", at) + 1 || -1) {
    const pieces = readAlong(body, plain, at);
    if (pieces) {
      return [[begin ? "… " : "", false], ...pieces, [snippet.endsWith(" …") ? " …" : "", false]];
    }
    if (!begin) {
      return null;
    }
  }
  return null;
}

function readAlong(body, plain, at) {
  const pieces = [];
  let own = "";
  let inside = false;
  for (let i = 0; i < body.length; ) {
    const isMark = body.startsWith(MARK, i);
    if (isMark && (inside || !plain.startsWith(MARK, at))) {
      pieces.push([own, inside]);
      own = "";
      inside = !inside;
      i += MARK.length;
    } else if (body[i] === plain[at]) {
      own += body[i];
      i += 1;
      at += 1;
    } else {
      return null;
    }
  }
  return inside ? null : [...pieces, [own, false]];
}

/** The payload in short, without the title. */
function fields(payload) {
  const own = Object.entries(payload ?? {}).filter(([key, value]) => {
    return key !== "title" && value !== null && value !== "" && !(Array.isArray(value) && !value.length);
  });
  if (!own.length) {
    return null;
  }
  const pairs = own.slice(0, MOST_FIELDS).map(([key, value]) => {
    return element("div", {}, element("dt", {}, key), element("dd", {}, shown(value)));
  });
  if (own.length > MOST_FIELDS) {
    pairs.push(element("div", {}, element("dt", {}, `and ${own.length - MOST_FIELDS} more`)));
  }
  return element("dl", { class: "fields" }, ...pairs);
}

/** The score as a bar of what vectors and words add to it, and in numbers. */
function scores(hit, largest) {
  const byWordsAlone = hit.dense === null && hit.lexical !== null;
  const dense = byWordsAlone ? 0 : (hit.dense ?? hit.score);
  const words = hit.score - dense;
  const share = (value) => (largest > 0 ? Math.max(0, value) / largest : 0);
  const hasWords = hit.lexical !== null;
  const parts = byWordsAlone ? "words alone" : hasWords ? `vectors ${score(dense)} + words ${score(words)}` : "vectors alone";
  return element(
    "p",
    { class: "scores" },
    bar(["dense", share(dense)], ["words", share(words)]),
    element("span", { class: "unseen" }, "Score "),
    element("strong", {}, score(hit.score)),
    element("span", { class: "parts" }, parts),
  );
}

// -- why --------------------------------------------------------------------------------------------------------------

async function toggleWhy(button, panel, why) {
  const open = button.getAttribute("aria-expanded") !== "true";
  button.setAttribute("aria-expanded", String(open));
  panel.hidden = !open;
  if (!open || panel.dataset.loaded) {
    return;
  }
  panel.replaceChildren(element("p", { class: "hint" }, "Asking …"));
  try {
    const found = await why();
    panel.replaceChildren(...explanation(found.text, found.explanation));
    panel.dataset.loaded = "yes";
  } catch (error) {
    panel.replaceChildren(element("p", { class: "problem" }, error.message));
  }
}

function explanation(text, found) {
  const [first, ...others] = text.split("\n").filter(Boolean);
  const lines = others.map((line) => element("li", {}, sentence(line.replace(/^\s*-\s+/, ""))));
  const sentences = element("div", { class: "said" }, element("p", {}, first), element("ul", {}, ...lines));
  const tables = [words(found), clusters(found), terms(found)].filter(Boolean);
  return [sentences, ...(tables.length ? [element("div", { class: "tables" }, ...tables)] : [])];
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function words(found) {
  const own = found.words ?? [];
  if (!own.length) {
    return null;
  }
  const most = Math.max(...own.map((word) => word.score), 1e-9);
  const rows = own.map((word) => [
    word.part ? `part of ${word.word}` : word.word,
    word.score ? element("span", { class: "with-bar" }, bar(["words", word.score / most]), score(word.score)) : "not in it",
  ]);
  return table("Words of the query", ["Word", "Adds"], rows, [1]);
}

function clusters(found) {
  const own = found.clusters ?? [];
  // With a filter, documents are let in without their lists, so whether one was opened says nothing.
  const opened = (cluster) => (found.filtered ? [] : [cluster.opened ? "yes" : "no"]);
  const rows = own.map((cluster) => [
    `${cluster.cluster}${cluster.copy ? " (further)" : ""}`,
    count(cluster.place),
    ...opened(cluster),
  ]);
  const headings = ["Cluster", "Rank for the query", ...(found.filtered ? [] : ["Opened"])];
  const caption = found.asked_clusters ? `Clusters (the query asks for ${count(found.asked_clusters)})` : "Clusters";
  return own.length ? table(caption, headings, rows) : null;
}

function terms(found) {
  const own = found.terms ?? [];
  const rows = own.map((term) => [
    term.part ? `part of ${term.term}` : term.term,
    count(term.rank + 1),
    term.counts && term.opened ? "yes" : "no",
  ]);
  return own.length ? table("Terms that it is filed under", ["Term", "Rank in the document", "Opened"], rows) : null;
}
