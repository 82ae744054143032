// The inspector: tabs, panels that refresh without taking anything out of a person's hands, approval cards.
//
// Panels are fetched by htmx when an event named on their root reaches the body. Here only what HTML cannot say:
// arrow keys on the tabs, no refresh under an open edit, no work for a hidden tab, opened details load once.

const TAB = "agentweb-inspector-tab";

const tabs = () => [...document.querySelectorAll('[data-inspector] [role="tab"]')];
const boxOf = (tab) => document.getElementById(tab.getAttribute("aria-controls"));

function select(tab, { focus = false } = {}) {
  for (const other of tabs()) {
    const chosen = other === tab;
    other.setAttribute("aria-selected", String(chosen));
    other.tabIndex = chosen ? 0 : -1;
    boxOf(other).hidden = !chosen;
  }
  if (focus) tab.focus();
  remember(tab.id);
  fetchDue(boxOf(tab).querySelector("[data-panel]"));
}

// A panel that is due is fetched as soon as it is seen and htmx listens to it.
function fetchDue(panel) {
  if (!panel?.matches?.("[data-panel][data-due][data-htmx-powered]") || panel.closest("[hidden]")) return;
  panel.removeAttribute("data-due");
  panel.dispatchEvent(new CustomEvent("shown"));
}
document.addEventListener("htmx:after:init", (event) => fetchDue(event.target));

function remember(id) {
  try {
    sessionStorage.setItem(TAB, id);
  } catch {
    // A browser without storage forgets the tab, nothing more.
  }
}

function remembered() {
  try {
    return document.getElementById(sessionStorage.getItem(TAB) ?? "");
  } catch {
    return null;
  }
}

function moveTab(event) {
  const all = tabs();
  const at = all.indexOf(event.target);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
  if (at < 0 || to === undefined) return;
  event.preventDefault();
  select(all[(to + all.length) % all.length], { focus: true });
}

function moveStep(event) {
  // Alt and an arrow move the step that has the focus, as the two buttons do.
  const op = { ArrowUp: "up", ArrowDown: "down" }[event.key];
  const form = event.altKey && op ? event.target.closest("[data-step-form]") : null;
  const button = form?.querySelector(`button[value="${op}"]`);
  if (!button) return;
  event.preventDefault();
  if (!button.disabled) button.click();
}

// Escape gives up what was begun in a card: a reason, an edit.
function giveUp(event) {
  if (event.key !== "Escape") return;
  const declining = event.target.closest?.("[data-declining]");
  if (declining) declining.reset();
  else event.target.closest?.(".ap-edit")?.querySelector("[data-cancel]")?.click();
}

document.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  giveUp(event);
  if (event.target.matches?.('[role="tab"]')) moveTab(event);
  else moveStep(event);
});

document.addEventListener("click", (event) => {
  const tab = event.target.closest?.('[data-inspector] [role="tab"]');
  if (tab) return select(tab);
  const link = event.target.closest?.("[data-show-tab]");
  const shown = link && document.getElementById(`tab-${link.dataset.showTab}`);
  if (shown) {
    select(shown, { focus: !link.hasAttribute("hx-get") });
    document.body.dispatchEvent(new CustomEvent("inspector-wanted"));
  }
  reveal(event);
});

// "Reject" first opens its reason; the second press sends it. Meanwhile there is no way to approve by a slip of the
// keyboard, and no refresh closes what is being written.
function reveal(event) {
  const button = event.target.closest?.("[data-reveals]");
  const box = button && document.getElementById(button.dataset.reveals);
  if (!box || !box.hidden) return;
  event.preventDefault();
  box.hidden = false;
  button.setAttribute("aria-expanded", "true");
  button.form.setAttribute("data-declining", "");
  button.form.setAttribute("hx-morph-skip", "");
  box.querySelector("textarea, input")?.focus();
}

document.addEventListener("reset", (event) => {
  const form = event.target;
  const button = form.querySelector("[data-reveals]");
  if (!button) return;
  document.getElementById(button.dataset.reveals).hidden = true;
  button.setAttribute("aria-expanded", "false");
  form.removeAttribute("data-declining");
  form.removeAttribute("hx-morph-skip");
  button.focus();
});

// A refresh by an event must not take an open edit away, and a panel nobody sees need not be fetched.
document.addEventListener("htmx:before:request", (event) => {
  const { ctx } = event.detail;
  const panel = ctx.sourceElement;
  if (!panel.matches?.("[data-panel]")) return;
  if (panel.closest("[hidden]")) {
    panel.setAttribute("data-due", "");
    event.preventDefault();
  } else if (panel.hasAttribute("data-editing")) {
    const stale = panel.querySelector("[data-stale]");
    if (stale && !mine(panel)) stale.hidden = false;
    event.preventDefault();
  }
});

// What this tab has just changed itself comes back as an event too; that is no news.
const changedAt = new WeakMap();
const mine = (panel) => Date.now() - (changedAt.get(panel) ?? 0) < 2500;

document.addEventListener("htmx:after:request", (event) => {
  const { ctx } = event.detail;
  if (ctx.request.method !== "POST") return;
  const panel = ctx.sourceElement.closest?.("[data-panel]");
  if (panel) changedAt.set(panel, Date.now());
});

// What was said about a person's own act stays until their next one, though the panel is refreshed meanwhile.
const said = new WeakMap();
document.addEventListener("htmx:before:swap", (event) => {
  const panel = event.detail.ctx.sourceElement;
  if (panel.matches?.("[data-panel]")) said.set(panel, [...panel.querySelectorAll("[data-said]")]);
});
document.addEventListener("htmx:after:swap", (event) => {
  const panel = event.detail.ctx.sourceElement;
  if (!panel.matches?.("[data-panel]") || panel.querySelector("[data-said]")) return;
  panel.querySelector(".pn-head")?.after(...(said.get(panel) ?? []));
});

// An opened iteration is fetched once, and again when it has moved on: its address then differs.
function fill(details) {
  const body = details.querySelector(".pn-iteration-body");
  if (!body || body.dataset.from === details.dataset.lazy) return;
  body.dataset.from = details.dataset.lazy;
  window.htmx.ajax("GET", details.dataset.lazy, { target: body, swap: "innerHTML" });
}
// `toggle` does not bubble, so it is caught on its way down.
const opened = (event) => event.target.open && event.target.dataset?.lazy && fill(event.target);
document.addEventListener("toggle", opened, true);
document.addEventListener("htmx:after:swap", () => document.querySelectorAll("details[open][data-lazy]").forEach(fill));

// "Expires in 23 h 58 min" goes on counting; the server decides, this only tells.
function countDown() {
  const now = Date.now();
  for (const span of document.querySelectorAll("[data-until]")) {
    const minutes = Math.floor((new Date(span.dataset.until) - now) / 60000);
    const words = span.dataset.words?.split("|");
    if (!words || minutes < 0) continue;
    const [long, short, last] = words;
    const pattern = minutes >= 60 ? long : minutes >= 1 ? short : last;
    span.textContent = pattern.replace("{h}", Math.floor(minutes / 60)).replace("{m}", minutes % 60);
  }
}
setInterval(countDown, 30_000);

const start = remembered();
if (start?.matches('[data-inspector] [role="tab"]')) select(start);
