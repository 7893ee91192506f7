// How are elements made, and numbers written? Text from the server becomes text nodes, never markup.

/** Make an element. Attributes that are null or false are left out; children are elements or text. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) {
      made.setAttribute(key, value === true ? "" : String(value));
    }
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const byId = (id) => document.getElementById(id);

/** A bar of one or more parts: [class, share of the whole width]. Numbers beside it say the same to everyone. */
export function bar(...parts) {
  const made = element("span", { class: "bar", "aria-hidden": "true" });
  for (const [kind, share] of parts) {
    const part = element("span", { class: `part ${kind}` });
    part.style.setProperty("width", `${Math.max(0, Math.min(1, share)) * 100}%`);
    made.append(part);
  }
  return made;
}

/** A table with a caption, headings and rows of elements or text; columns named in `numbers` are aligned right. */
export function table(caption, headings, rows, numbers = []) {
  const kind = (column) => (numbers.includes(column) ? "number" : null);
  const head = headings.map((text, column) => element("th", { scope: "col", class: kind(column) }, text));
  const body = rows.map((cells) =>
    element(
      "tr",
      {},
      ...cells.map((cell, column) =>
        column ? element("td", { class: kind(column) }, cell) : element("th", { scope: "row", class: kind(column) }, cell),
      ),
    ),
  );
  return element(
    "table",
    {},
    element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...body),
  );
}

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

/** 66581 → 66,581 */
export const count = (value) => whole.format(value);

/** "1 hit", "2 hits" */
export const counted = (value, noun) => `${count(value)} ${noun}${Number(value) === 1 ? "" : "s"}`;

/** A score with as many digits as help: 0.871, 12.16 */
export function score(value) {
  return Math.abs(value) >= 100 ? value.toFixed(1) : Math.abs(value) >= 10 ? value.toFixed(2) : value.toFixed(3);
}

/** 2396916 → 2.4 MB */
export function bytes(value) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  let size = value;
  while (size >= 999.5 && at < units.length - 1) {
    size /= 1000;
    at += 1;
  }
  return `${at && size < 99.95 ? size.toFixed(1) : Math.round(size)} ${units[at]}`;
}

/** A value of a payload in one line. */
export function shown(value, longest = 80) {
  const text =
    typeof value === "string"
      ? value
      : Array.isArray(value)
        ? value.map((own) => shown(own)).join(", ")
        : typeof value === "number" && !Number.isInteger(value)
          ? short.format(value)
          : typeof value === "object" && value !== null
            ? Object.entries(value).map(([key, own]) => `${key}: ${shown(own)}`).join(", ")
            : String(value);
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}
