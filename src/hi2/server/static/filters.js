// Which documents may be found? Facets and ranges that are chosen become one filter expression, as the server reads it.

import * as api from "./api.js";
import { count, element, shown } from "./dom.js";
import { pick, state } from "./state.js";

/** Of more columns, none is shown as a facet; the filter expression takes them all. */
const MOST_COLUMNS = 12;
const MOST_VALUES = 10;
/** An integer column with more different values than this is a range. */
const FEW = 50;
const FACETS = new Set(["str", "bool", "int", "tags"]);
const RANGES = new Set(["int", "float"]);
const WORDS = new Set(["and", "or", "not", "in", "contains", "exists", "true", "false"]);

// -- expressions ------------------------------------------------------------------------------------------------------

/** A column as an expression has it: keys that are no plain names in backquotes. Null where that cannot be written. */
export function columnName(column) {
  const keys = [...column.matchAll(/`([^`]+)`|([^.`]+)/g)];
  const isWhole = keys.map((key) => key[0]).join(".") === column;
  const written = keys.map(([, quoted, plain]) => {
    const key = quoted ?? plain;
    return /^[A-Za-z_]\w*$/.test(key) && !WORDS.has(key.toLowerCase()) ? key : `\`${key}\``;
  });
  return isWhole && keys.length ? written.join(".") : null;
}

/** A value as an expression has it. */
export function literal(value) {
  return typeof value === "string" ? `'${value.replace(/[\\']/g, "\\$&")}'` : String(value);
}

/** The filter of everything that is chosen, but for one column; null without any. */
export function expression(columns, without = null) {
  const parts = [];
  for (const [column, values] of state.picked) {
    const name = columnName(column);
    if (name !== null && column !== without && column in columns) {
      parts.push(anyOf(name, columns[column], values));
    }
  }
  for (const [column, { from, to }] of state.ranges) {
    const name = columnName(column);
    if (name !== null && column !== without && column in columns) {
      parts.push(...[from && `${name} >= ${from}`, to && `${name} <= ${to}`].filter(Boolean));
    }
  }
  const where = state.where.trim();
  if (where) {
    parts.unshift(parts.length ? `(${where})` : where);
  }
  return parts.length ? parts.join(" and ") : null;
}

function anyOf(name, kind, values) {
  if (kind === "tags") {
    const each = values.map((value) => `${name} contains ${literal(value)}`);
    return each.length === 1 ? each[0] : `(${each.join(" or ")})`;
  }
  return values.length === 1 ? `${name} == ${literal(values[0])}` : `${name} in (${values.map(literal).join(", ")})`;
}

// -- facets -----------------------------------------------------------------------------------------------------------

/** The facets of one collection. `changed` is called after a choice. */
export class Facets {
  constructor(place, collection, changed) {
    this.place = place;
    this.collection = collection;
    this.changed = changed;
    this.groups = new Map();
    this.running = null;
    place.replaceChildren();
  }

  /** Count the values of every column under the filters of the others. */
  async load() {
    this.running?.abort();
    this.running = new AbortController();
    const { signal } = this.running;
    const { name, columns } = this.collection;
    let refused = null;
    const usable = Object.entries(columns).filter(([column, kind]) => {
      return (FACETS.has(kind) || RANGES.has(kind)) && columnName(column) !== null;
    });
    for (const [column, kind] of usable.slice(0, MOST_COLUMNS)) {
      if (!this.groups.has(column)) {
        const group = await this._group(name, column, kind, signal);
        signal.throwIfAborted();
        this.groups.set(column, group);
        this.place.append(...(group ? [group.element] : []));
      }
      const group = this.groups.get(column);
      const filter = expression(columns, column);
      if (group?.counts && filter && !refused) {
        try {
          group.show(await api.facet(name, column, { filter, limit: FEW + 1, signal }));
          continue;
        } catch (error) {
          if (error.status !== 400) {
            throw error;
          }
          refused = error;
        }
      }
      group?.show(group.all);
    }
    if (refused) {
      throw refused;
    }
  }

  stop() {
    this.running?.abort();
  }

  /** Decide by all documents what a column is shown as: values, a range, or not at all. */
  async _group(name, column, kind, signal) {
    if (!FACETS.has(kind)) {
      return range(column, this.changed);
    }
    let all;
    try {
      all = await api.facet(name, column, { limit: FEW + 1, signal });
    } catch (error) {
      if ([400, 404, 422].includes(error.status)) {
        return null; // a column that cannot be asked for; the others can
      }
      throw error;
    }
    if (kind === "int" && all.length > FEW) {
      return range(column, this.changed);
    }
    const helps = all.length > 0 && Number(all[0][1]) > 1;
    return helps ? values(column, all, this.changed) : null;
  }
}

function section(column, ...children) {
  const body = element("div", { role: "group", "aria-label": column }, ...children);
  return element("details", { class: "facet", open: true, "data-column": column }, element("summary", {}, column), body);
}

function values(column, all, changed) {
  const list = element("ul");
  const own = section(column, list);
  const said = (value) => (value === "" ? "(empty)" : shown(value, 60));

  function show(counts) {
    const picked = state.picked.get(column) ?? [];
    const known = new Map(counts);
    const first = counts.slice(0, MOST_VALUES).map(([value]) => value);
    const focused = list.contains(document.activeElement) ? document.activeElement.dataset.value : null;
    const rows = [...picked.filter((value) => !first.includes(value)), ...first].map((value) => {
      const box = element("input", { type: "checkbox", "data-value": literal(value) });
      box.checked = picked.includes(value);
      box.addEventListener("change", () => {
        pick(column, value, box.checked);
        changed();
      });
      const n = element("span", { class: "count" }, count(known.get(value) ?? 0));
      return element("li", {}, element("label", { class: "check" }, box, element("span", {}, said(value)), n));
    });
    const rest = counts.length - MOST_VALUES;
    if (rest > 0) {
      rows.push(element("li", { class: "hint" }, `${counts.length > FEW ? `more than ${FEW - MOST_VALUES}` : rest} more`));
    }
    if (!counts.length && !picked.length) {
      rows.push(element("li", { class: "hint" }, "no document"));
    }
    list.replaceChildren(...rows);
    if (focused !== null) {
      [...list.querySelectorAll("input")].find((box) => box.dataset.value === focused)?.focus();
    }
  }

  return { element: own, counts: true, all, show };
}

function range(column, changed) {
  const ends = ["from", "to"].map((end) => {
    const input = element("input", { type: "number", step: "any", placeholder: end, "aria-label": `${column} ${end}` });
    input.addEventListener("input", () => {
      const range = { ...state.ranges.get(column), [end]: input.validity.valid ? input.value : "" };
      if (range.from || range.to) {
        state.ranges.set(column, range);
      } else {
        state.ranges.delete(column);
      }
      changed(300);
    });
    return input;
  });

  function show() {
    const given = state.ranges.get(column) ?? {};
    ends.forEach((input, at) => {
      const value = given[at ? "to" : "from"] ?? "";
      if (document.activeElement !== input) {
        input.value = value;
      }
    });
  }

  return { element: section(column, element("div", { class: "range" }, ends[0], "–", ends[1])), counts: false, show };
}
