// What is said where there are no hits to show? How to begin, and how to fill an empty collection.

import { counted, element } from "./dom.js";

const key = (name) => element("kbd", {}, name);

/** Before the first word is typed. */
export function startNote(collection) {
  const how =
    collection.encoder === null
      ? "This collection has no encoder, so a text alone is ranked by its words."
      : "Type a question or a few words: documents are found by their meaning and by their words.";
  return element(
    "div",
    { class: "note" },
    element("h3", {}, `Search ${counted(collection.documents, "document")}`),
    element("p", {}, how),
    element("p", {}, element("code", {}, "+word"), " must be in the text, ", element("code", {}, "-word"), " must not."),
    element(
      "p",
      { class: "keys" },
      key("/"), " search field, ", key("↓"), " ", key("↑"), " or ", key("j"), " ", key("k"), " from hit to hit, ",
      key("Enter"), " why it was found, ", key("Esc"), " back to the field.",
    ),
  );
}

/** A collection without documents. */
export function emptyNote(collection) {
  const made = element("div", { class: "note" }, element("h3", {}, `The collection ${collection.name} is empty`));
  if (!collection.writable) {
    made.append(element("p", {}, "This server is read only, so documents are added by another process."));
    return made;
  }
  const document = { documents: [{ id: "first", text: "A first document.", payload: { title: "Hello" } }] };
  const path = `${location.origin}/v1/collections/${collection.name}/documents`;
  made.append(
    element("p", {}, "Add a document from a shell. This page notices when documents have come."),
    command(`curl -X POST ${path}`, document),
    element("p", { class: "hint" }, "Where the server needs a token, add: ", element("code", {}, "-H 'authorization: Bearer TOKEN'")),
  );
  return made;
}

/** A server without collections. */
export function noCollectionNote() {
  return element(
    "div",
    { class: "note" },
    element("h3", {}, "This server has no collection yet"),
    element("p", {}, "Make one from a shell, then reload this page."),
    command(`curl -X PUT ${location.origin}/v1/collections/notes`, { encoder: "static" }),
  );
}

function command(begin, body) {
  const lines = `${begin} \\\n  -H 'content-type: application/json' \\\n  -d '${JSON.stringify(body)}'`;
  return element("pre", { tabindex: "0" }, element("code", {}, lines));
}
