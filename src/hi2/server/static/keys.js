// Which keys lead where? "/" to the field, arrows or j and k from hit to hit, Enter to why, Esc back to the field.

import { byId } from "./dom.js";

const FIELDS = "input, select, textarea";

/** Listen to keys while `isSearch` says that hits are shown. */
export function listenToKeys(isSearch) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !isSearch()) {
      return;
    }
    const { target } = event;
    const inField = target.matches(FIELDS);
    if (event.key === "/" && !inField) {
      event.preventDefault();
      byId("query").focus();
      byId("query").select();
    } else if (event.key === "Escape" && target !== byId("query")) {
      event.preventDefault();
      byId("query").focus();
    } else if (event.key === "Enter" && target.matches(".hit")) {
      event.preventDefault();
      target.querySelector(".why-button").click();
    } else if (!inField || target === byId("query")) {
      const step = { ArrowDown: 1, ArrowUp: -1, ...(inField ? {} : { j: 1, k: -1 }) }[event.key];
      if (step && move(step, target)) {
        event.preventDefault();
      }
    }
  });
}

/** Focus the next hit or the previous one; before the first is the search field. */
function move(step, from) {
  const hits = [...byId("results").children];
  const at = hits.indexOf(from.closest(".hit"));
  const isOutside = at < 0 && from !== byId("query") && from !== document.body && !byId("results").contains(from);
  if (!hits.length || isOutside || (at < 0 && step < 0)) {
    return false;
  }
  if (at + step < 0) {
    byId("query").focus();
    return true;
  }
  const next = hits[Math.min(at + step, hits.length - 1)];
  hits.forEach((hit) => hit.setAttribute("tabindex", hit === next ? "0" : "-1"));
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}
