// How are questions asked? The weight of words, clusters, profile, number of hits, and the filter expression.

import { byId, element } from "./dom.js";
import { state } from "./state.js";

const DEFAULT_LEXICAL = "0.3";
const TYPING = 250;

/** Show the options of the state, and what the collection offers. */
export function showOptions(collection) {
  const isDefault = state.lexical === null;
  byId("lexical-default").checked = isDefault;
  byId("lexical").value = isDefault ? DEFAULT_LEXICAL : String(state.lexical);
  byId("lexical").classList.toggle("unset", isDefault);
  byId("lexical-shown").textContent = isDefault ? "default" : state.lexical.toFixed(2);
  set("clusters", state.clusters);
  set("k", state.k);
  set("where", state.where);
  const profiles = [element("option", { value: "" }, collection.profiles.length ? "none" : "none in this collection")];
  profiles.push(...collection.profiles.map((name) => element("option", { value: name }, name)));
  if (state.profile !== null && !collection.profiles.includes(state.profile)) {
    profiles.push(element("option", { value: state.profile }, `${state.profile} (not in this collection)`));
  }
  byId("profile").replaceChildren(...profiles);
  byId("profile").value = state.profile ?? "";
  byId("profile").disabled = profiles.length === 1;
  byId("clear").hidden = !state.where && !state.picked.size && !state.ranges.size;
  byId("where-hint").textContent = example(collection.columns);
}

/** Call `changed` with a delay in milliseconds whenever an option is changed. */
export function listenToOptions(changed) {
  byId("lexical").addEventListener("input", (event) => {
    state.lexical = Number(event.target.value);
    changed(TYPING / 2);
  });
  byId("lexical-default").addEventListener("change", (event) => {
    state.lexical = event.target.checked ? null : Number(byId("lexical").value);
    changed();
  });
  for (const name of ["clusters", "k"]) {
    byId(name).addEventListener("input", (event) => {
      const { value, validity } = event.target;
      state[name] = value !== "" && validity.valid ? Number(value) : null;
      changed(TYPING);
    });
  }
  byId("profile").addEventListener("change", (event) => {
    state.profile = event.target.value || null;
    changed();
  });
  byId("where").addEventListener("input", (event) => {
    state.where = event.target.value;
    changed(TYPING);
  });
}

/** Set a field, unless someone is typing into it. */
function set(id, value) {
  const field = byId(id);
  if (document.activeElement !== field) {
    field.value = value === null ? "" : String(value);
  }
}

/** Columns that an expression can name. */
function example(columns) {
  const names = Object.entries(columns).filter(([, kind]) => kind !== "other");
  const listed = names.slice(0, 8).map(([name, kind]) => `${name} (${kind})`).join(", ");
  return names.length ? `Columns: ${listed}${names.length > 8 ? " and more" : ""}.` : "The documents have no payload.";
}
