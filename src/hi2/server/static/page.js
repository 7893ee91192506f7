// What happens when a person types, chooses or waits? The page's state is sent to the server, and its answer is shown.

import * as api from "./api.js";
import { byId, count, counted, element } from "./dom.js";
import { Facets, expression } from "./filters.js";
import { hitItem } from "./hits.js";
import { indexView } from "./info.js";
import { emptyNote, noCollectionNote, startNote } from "./notes.js";
import { listenToOptions, showOptions } from "./options.js";
import { forgetFilters, readAddress, state, writeAddress } from "./state.js";
import { listenToKeys } from "./keys.js";

const TYPING = 80;
const DEFAULT_K = 10;
/** Seconds between looks at a server that has gone. */
const AGAIN = [0.5, 1, 1, 2, 2, 5];
/** Seconds between looks at an empty collection. */
const EMPTY_AGAIN = 3;

let all = [];
let facets = null;
let running = null;
let timer = null;
let facetsTimer = null;
let emptyTimer = null;
let isGone = false;
let isTyping = false;
/** What is on the page: the request and its hits. */
let shown = null;

const current = () => all.find((own) => own.name === state.collection) ?? null;

// -- what is asked ----------------------------------------------------------------------------------------------------

function request(offset = 0) {
  const { text, ...given } = {
    text: state.query,
    filter: expression(current().columns),
    k: state.k ?? DEFAULT_K,
    offset,
    lexical: state.lexical,
    clusters: state.clusters,
    profile: state.profile,
  };
  const known = Object.entries(given).filter(([, value]) => value !== null);
  return { text, syntax: true, include: ["text", "payload", "snippet"], ...Object.fromEntries(known) };
}

function searchSoon(delay = 0) {
  clearTimeout(timer);
  timer = setTimeout(search, delay);
}

async function search() {
  clearTimeout(timer);
  running?.abort();
  const collection = current();
  if (isGone || state.view !== "search" || !collection) {
    return;
  }
  if (!state.query.trim() || !collection.documents) {
    showStart(collection);
    return;
  }
  running = new AbortController();
  await answer(collection, request(), running.signal);
}

async function more() {
  if (shown && !isGone) {
    running?.abort();
    running = new AbortController();
    await answer(shown.collection, { ...shown.request, offset: shown.hits.length }, running.signal, shown.hits);
  }
}

async function answer(collection, body, signal, before = []) {
  const begin = performance.now();
  byId("results").setAttribute("aria-busy", "true");
  try {
    const found = await api.search(collection.name, body, signal);
    const hits = [...before, ...found.hits];
    shown = { collection, request: body, hits };
    showHits(found, before, performance.now() - begin);
  } catch (error) {
    problem(error, () => answer(collection, body, signal, before));
  } finally {
    if (!signal.aborted) {
      byId("results").removeAttribute("aria-busy");
    }
  }
}

/** Why a hit was found. With a filter or a profile only the search itself knows, so it is repeated. */
async function explain(hit, body, collection) {
  const { text, k, offset, lexical, clusters } = body;
  try {
    if (body.filter === undefined && body.profile === undefined) {
      return await api.explain(collection.name, { id: hit.id, text, k: k + offset, lexical, clusters, syntax: true });
    }
    const found = await api.search(collection.name, { ...body, include: [], explain: true });
    const own = found.hits.find((other) => other.id === hit.id)?.explanation;
    return own ? { text: own.text, explanation: own } : { text: "The collection has changed: search again.", explanation: {} };
  } catch (error) {
    if (error instanceof api.Gone) {
      lost();
    }
    throw error;
  }
}

// -- what is shown ----------------------------------------------------------------------------------------------------

function showHits(found, before, milliseconds) {
  const { hits, request: body, collection } = shown;
  const largest = Math.max(...hits.map((hit) => hit.score), 0);
  const list = byId("results");
  const items = found.hits.map((hit, at) =>
    hitItem(hit, { rank: before.length + at + 1, largest, why: () => explain(hit, body, collection) }),
  );
  if (before.length) {
    list.append(...items);
    items[0]?.focus();
  } else {
    list.replaceChildren(...items);
  }
  list.firstElementChild?.setAttribute("tabindex", "0");
  byId("more").hidden = found.hits.length < body.k;
  byId("legend").hidden = !hits.length || hits[0].dense === null || hits[0].lexical === null;
  byId("note").replaceChildren();
  whereProblem("");
  const total = Math.max(collection.documents, found.n_scored);
  const scored = `${count(found.n_scored)} of ${counted(total, "document")} scored`;
  const time = milliseconds < 9.5 ? milliseconds.toFixed(1) : milliseconds.toFixed(0);
  const byWords = collection.encoder === null ? " · by words alone, since this collection has no encoder" : "";
  say(`${hits.length ? counted(hits.length, "hit") : "No hits"} · ${scored} · ${time} ms${byWords}`);
}

function showStart(collection) {
  shown = null;
  byId("results").replaceChildren();
  byId("more").hidden = byId("legend").hidden = true;
  byId("note").replaceChildren(collection.documents ? startNote(collection) : emptyNote(collection));
  say(collection.documents ? "" : "This collection is empty.");
  clearTimeout(emptyTimer);
  if (!collection.documents) {
    emptyTimer = setTimeout(lookForDocuments, EMPTY_AGAIN * 1000);
  }
}

async function lookForDocuments() {
  try {
    all = await api.collections();
  } catch (error) {
    problem(error, lookForDocuments);
    return;
  }
  if (current()?.documents) {
    await showCollection();
  } else if (current()) {
    emptyTimer = setTimeout(lookForDocuments, EMPTY_AGAIN * 1000);
  }
}

async function showIndex() {
  const collection = current();
  if (isGone || !collection) {
    return;
  }
  running?.abort();
  running = new AbortController();
  const { signal } = running;
  try {
    const found = await api.info(collection.name, signal);
    byId("index-body").replaceChildren(...indexView(found));
    byId("index-status").textContent = `The collection ${collection.name} has ${counted(found.n_docs, "document")}.`;
  } catch (error) {
    problem(error, showIndex);
  }
}

const say = (text) => {
  byId(state.view === "index" ? "index-status" : "status").textContent = text;
};

function whereProblem(text) {
  const [said, ...place] = text.split("\n");
  const shownPlace = place.length ? [element("code", { "aria-hidden": "true" }, place.join("\n"))] : [];
  byId("where-problem").replaceChildren(...(text ? [said, ...shownPlace] : []));
  byId("where").setAttribute("aria-invalid", String(Boolean(text)));
}

// -- what goes wrong --------------------------------------------------------------------------------------------------

function problem(error, again) {
  if (error.name === "AbortError") {
    return;
  }
  if (error instanceof api.Gone) {
    lost();
  } else if (error.status === 401) {
    byId("banner").replaceChildren(element("p", { class: "wide" }, "A token is needed. ", element("a", { href: "/" }, "Log in")));
  } else if (error.status === 429) {
    say(`The server is busy; trying again in ${counted(error.retryAfter, "second")}.`);
    setTimeout(again, error.retryAfter * 1000); // what has been replaced meanwhile is aborted, and ends here
  } else if (error.status === 400 && /'filter' parameter/.test(error.message)) {
    whereProblem(error.message);
    byId("panel").open = true;
    say("The filter cannot be read.");
  } else if (error instanceof api.Refused) {
    say(error.message);
  } else {
    say("The page failed; reload it.");
    throw error;
  }
}

/** The server has gone: say so, look for it until it is back, and go on where it went. */
function lost() {
  if (isGone) {
    return;
  }
  isGone = true;
  let tries = 0;
  let waiting = null;
  const now = element("button", { type: "button" }, "Try now");
  const look = async () => {
    clearTimeout(waiting);
    if (await api.alive()) {
      if (isGone) {
        isGone = false;
        byId("banner").replaceChildren();
        await start();
      }
    } else {
      waiting = setTimeout(look, AGAIN[Math.min(tries, AGAIN.length - 1)] * 1000);
      tries += 1;
    }
  };
  now.addEventListener("click", look);
  byId("banner").replaceChildren(element("p", { class: "wide" }, "The server does not answer; trying again. ", now));
  waiting = setTimeout(look, AGAIN[0] * 1000);
}

// -- collections and filters ------------------------------------------------------------------------------------------

/** Begin, or begin again: the collections, then what the address says. */
async function start() {
  try {
    all = await api.collections();
  } catch (error) {
    problem(error, start);
    return;
  }
  facets?.stop();
  facets = null;
  await showState();
}

/** Show all that the state says. */
async function showState() {
  clearTimeout(emptyTimer);
  if (!current()) {
    state.collection = all[0]?.name ?? null;
  }
  const select = byId("collection");
  select.replaceChildren(...all.map((own) => element("option", { value: own.name }, own.name)));
  select.value = state.collection ?? "";
  select.disabled = !all.length;
  await showCollection();
}

async function showCollection() {
  const collection = current();
  const inIndex = state.view === "index";
  byId("search-view").hidden = inIndex;
  byId("index-view").hidden = !inIndex;
  byId("to-search").setAttribute("aria-current", inIndex ? "false" : "page");
  byId("to-index").setAttribute("aria-current", inIndex ? "page" : "false");
  document.title = [inIndex ? "Index" : state.query.trim(), collection?.name, "hi2"].filter(Boolean).join(" · ");
  if (!collection) {
    byId("note").replaceChildren(noCollectionNote());
    byId("index-body").replaceChildren(noCollectionNote());
    return;
  }
  showOptions(collection);
  if (inIndex) {
    await showIndex();
  } else {
    await Promise.all([search(), loadFacets()]);
  }
}

async function loadFacets() {
  const collection = current();
  if (isGone || !collection) {
    return;
  }
  if (facets?.collection !== collection) {
    facets?.stop();
    facets = new Facets(byId("facets"), collection, changed);
  }
  try {
    await facets.load();
    whereProblem("");
  } catch (error) {
    problem(error, loadFacets);
  }
}

/** A filter or an option was changed; with a delay, because it may change further. */
function changed(delay = 0) {
  writeAddress({ replace: delay > 0 });
  showOptions(current());
  searchSoon(delay);
  clearTimeout(facetsTimer);
  facetsTimer = setTimeout(loadFacets, delay);
}

// -- listening --------------------------------------------------------------------------------------------------------

const query = byId("query");
query.addEventListener("input", () => {
  state.query = query.value;
  writeAddress({ replace: isTyping }); // back leads to what was there before the typing began
  isTyping = true;
  document.title = [state.query.trim(), state.collection, "hi2"].filter(Boolean).join(" · ");
  searchSoon(TYPING);
});
query.addEventListener("change", () => {
  isTyping = false;
});
byId("form").addEventListener("submit", (event) => {
  event.preventDefault();
  isTyping = false;
  searchSoon();
});
byId("collection").addEventListener("change", (event) => {
  state.collection = event.target.value;
  forgetFilters();
  state.profile = null;
  writeAddress();
  showState();
});
byId("clear").addEventListener("click", () => {
  forgetFilters();
  changed();
  byId("where").focus();
});
for (const view of ["search", "index"]) {
  byId(`to-${view}`).addEventListener("click", (event) => {
    event.preventDefault();
    state.view = view;
    writeAddress();
    showState();
  });
}
byId("more").addEventListener("click", more);
byId("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address is the page's state
  (byId("results").firstElementChild ?? byId(state.view === "index" ? "index-view" : "results")).focus();
});
window.addEventListener("hashchange", () => {
  isTyping = false;
  readAddress();
  query.value = state.query;
  showState();
});
const isWide = window.matchMedia("(min-width: 50rem)");
const fold = () => {
  byId("panel").open = isWide.matches;
};
isWide.addEventListener("change", fold);
fold();
listenToOptions(changed);
listenToKeys(() => state.view === "search");

readAddress();
query.value = state.query;
start();
