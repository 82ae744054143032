// Says what went wrong when a fragment could not be fetched or an action did not arrive.
// htmx faults -> a word on the page. Touches: #toasts.

import { text } from "./words.js";

const SHOWN = 8_000; // ms
const DELETED = 1_500; // ms until a page whose conversation is gone says so

export function setUpFaults() {
  document.addEventListener("htmx:response:error", ({ target, detail }) => {
    const status = detail.ctx.response.status;
    const asked = detail.ctx.request.method !== "GET";
    if (status === 404 && target.id === "header") {
      // The conversation was deleted: here, and the page is on its way elsewhere; or in another tab.
      setTimeout(() => location.reload(), DELETED);
      return;
    }
    if (status === 403) toast(text("stale"), { label: text("reload"), act: () => location.reload() });
    else if (status === 404) toast(text("gone"));
    else if (status >= 500 && asked) toast(text("fault"));
  });
  // A fragment that could not be fetched is fetched again at the next event or reconnect; a person's act is not.
  document.addEventListener("htmx:error", ({ detail }) => {
    if (detail.ctx && detail.ctx.request.method !== "GET") toast(text("offline"));
  });
}

export function toast(words, action = null) {
  const element = document.createElement("div");
  element.className = "toast";
  element.append(words);
  if (action) {
    const button = document.createElement("button");
    button.className = "link";
    button.type = "button";
    button.textContent = action.label;
    button.onclick = action.act;
    element.append(button);
  }
  document.getElementById("toasts").replaceChildren(element);
  if (!action) setTimeout(() => element.remove(), SHOWN);
}
