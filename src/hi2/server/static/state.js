// What is being looked at? All of it is in the address after the '#', so that reload, back and links work.

/** Options and what the address calls them; null stands for the server's default. */
const NUMBERS = { lexical: "lexical", clusters: "clusters", k: "k" };

function empty() {
  return {
    view: "search",
    collection: null,
    query: "",
    where: "",
    /** Column → chosen values. */
    picked: new Map(),
    /** Column → {from, to} as they were typed. */
    ranges: new Map(),
    lexical: null,
    clusters: null,
    k: null,
    profile: null,
  };
}

export const state = empty();

/** Read the address into the state. */
export function readAddress() {
  const [view, query = ""] = splitOnce(location.hash.replace(/^#\/?/, ""), "?");
  const given = new URLSearchParams(query);
  Object.assign(state, empty());
  state.view = view === "index" ? "index" : "search";
  state.collection = given.get("c");
  state.query = given.get("q") ?? "";
  state.where = given.get("where") ?? "";
  state.profile = given.get("profile");
  for (const [name, key] of Object.entries(NUMBERS)) {
    const value = given.get(key);
    state[name] = value === null || value === "" || !Number.isFinite(Number(value)) ? null : Number(value);
  }
  for (const [key, value] of given) {
    const [kind, column] = splitOnce(key, ".");
    if (kind === "is" && column) {
      pick(column, parsed(value), true);
    } else if ((kind === "from" || kind === "to") && column && Number.isFinite(Number(value))) {
      state.ranges.set(column, { ...state.ranges.get(column), [kind]: value });
    }
  }
}

/** Write the state into the address: as a new entry of the history, or in place of the last one. */
export function writeAddress({ replace = false } = {}) {
  const given = new URLSearchParams();
  const set = (key, value) => value !== null && value !== "" && given.append(key, String(value));
  set("c", state.collection);
  set("q", state.query);
  set("where", state.where);
  for (const [column, values] of state.picked) {
    values.forEach((value) => set(`is.${column}`, written(value)));
  }
  for (const [column, range] of state.ranges) {
    set(`from.${column}`, range.from ?? null);
    set(`to.${column}`, range.to ?? null);
  }
  for (const [name, key] of Object.entries(NUMBERS)) {
    set(key, state[name]);
  }
  set("profile", state.profile);
  const address = `#/${state.view}${String(given) && `?${given}`}`;
  if (address !== location.hash) {
    history[replace ? "replaceState" : "pushState"](null, "", address);
  }
}

/** Choose a value of a column, or no longer. */
export function pick(column, value, on) {
  const others = (state.picked.get(column) ?? []).filter((own) => own !== value);
  const values = on ? [...others, value] : others;
  if (values.length) {
    state.picked.set(column, values);
  } else {
    state.picked.delete(column);
  }
}

/** Forget what belongs to one collection. */
export function forgetFilters() {
  Object.assign(state, { where: "", picked: new Map(), ranges: new Map() });
}

const written = (value) => (typeof value === "bigint" ? `${value}n` : JSON.stringify(value));

function parsed(text) {
  if (/^-?\d+n$/.test(text)) {
    return BigInt(text.slice(0, -1));
  }
  try {
    const value = JSON.parse(text);
    return ["string", "number", "boolean"].includes(typeof value) ? value : text;
  } catch {
    return text;
  }
}

function splitOnce(text, mark) {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + mark.length)];
}
