// How does the page talk to the server? JSON over fetch; what goes wrong becomes one of a few errors.

/** The server answered that it will not: a status, a sentence, and when to come again. */
export class Refused extends Error {
  constructor(status, detail, retryAfter) {
    super(detail);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** The server did not answer at all. */
export class Gone extends Error {}

// Integers may have 64 bits, more than a number of JavaScript holds: those become BigInt, and are sent as they came.
function read(text) {
  return JSON.parse(text, (key, value, context) => {
    const large = typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
    return large && context && /^-?\d+$/.test(context.source) ? BigInt(context.source) : value;
  });
}

function write(value) {
  return JSON.stringify(value, (key, own) =>
    typeof own === "bigint" ? (JSON.rawJSON ? JSON.rawJSON(String(own)) : Number(own)) : own,
  );
}

/** GET a path, or POST a body to it, and return the JSON of the answer. */
export async function ask(path, { body, signal } = {}) {
  const options = { signal, headers: { accept: "application/json" }, credentials: "same-origin", redirect: "error" };
  if (body !== undefined) {
    Object.assign(options, { method: "POST", body: write(body) });
    options.headers["content-type"] = "application/json";
  }
  let answer, text;
  try {
    answer = await fetch(path, options);
    text = await answer.text();
  } catch (error) {
    throw error.name === "AbortError" ? error : new Gone("The server does not answer.");
  }
  if (answer.ok) {
    return read(text);
  }
  throw new Refused(answer.status, detail(text, answer.status), Number(answer.headers.get("retry-after")) || 1);
}

function detail(text, status) {
  try {
    return String(JSON.parse(text).detail ?? "") || `The server answered with status ${status}.`;
  } catch {
    return `The server answered with status ${status}.`;
  }
}

const collection = (name) => `/v1/collections/${encodeURIComponent(name)}`;

export const collections = (signal) => ask("/v1/collections", { signal }).then((found) => found.collections);
export const search = (name, body, signal) => ask(`${collection(name)}/search`, { body, signal });
export const explain = (name, body) => ask(`${collection(name)}/explain`, { body });
export const info = (name, signal) => ask(`${collection(name)}/info`, { signal });

/** Whether the server is back. */
export const alive = () => ask("/health").then(() => true, (error) => !(error instanceof Gone));

/** The most frequent values of a column, as pairs of value and count. */
export function facet(name, column, { filter, limit, signal }) {
  const query = new URLSearchParams({ limit: String(limit) });
  if (filter) {
    query.set("filter", filter);
  }
  const path = `${collection(name)}/facets/${encodeURIComponent(column)}?${query}`;
  return ask(path, { signal }).then((found) => found.values);
}
