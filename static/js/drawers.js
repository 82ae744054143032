// The side areas on a narrow screen, small menus, and the question before something is deleted.
// clicks, Escape -> what is open. Touches: #conversations, #inspector, #backdrop, #confirm, .menu.

const backdrop = document.getElementById("backdrop");
const page = document.getElementById("conversation");

export function setUpDrawers() {
  document.addEventListener("click", ({ target }) => {
    const opener = target.closest("[data-drawer]");
    if (opener) toggle(opener.dataset.drawer);
    else if (target === backdrop || target.closest("[data-close-drawer]")) close();
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!menu.contains(target) || target.closest(".menu-items button")) menu.open = false;
    }
  });
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
    const menu = document.querySelector("details.menu[open]");
    if (menu) {
      menu.open = false;
      menu.querySelector("summary").focus();
    } else close();
  });
  addEventListener("resize", () => {
    const drawer = document.querySelector(".side.open, .inspector-area.open");
    if (drawer && getComputedStyle(drawer).position !== "fixed") close();
  });
  document.addEventListener("htmx:confirm", confirmFirst);
  document.body.addEventListener("inspector-wanted", () => {
    if (getComputedStyle(document.getElementById("inspector")).visibility === "hidden") toggle("inspector");
  });
}

/** Open one drawer, or close it. */
export function toggle(name) {
  const drawer = document.getElementById(name);
  const opens = !drawer.classList.contains("open");
  close();
  if (!opens) return;
  drawer.classList.add("open");
  backdrop.hidden = false;
  page.inert = true; // Tab stays in the drawer
  opener(name)?.setAttribute("aria-expanded", "true");
  // It becomes focusable only once it is visible.
  requestAnimationFrame(() => drawer.querySelector("button, a, input")?.focus());
}

function close() {
  const drawer = document.querySelector(".side.open, .inspector-area.open");
  if (!drawer) return;
  const held = drawer.contains(document.activeElement);
  drawer.classList.remove("open");
  backdrop.hidden = true;
  page.inert = false;
  opener(drawer.id)?.setAttribute("aria-expanded", "false");
  if (held) opener(drawer.id)?.focus();
}

function opener(name) {
  return document.querySelector(`[data-drawer="${name}"]`);
}

function confirmFirst(event) {
  const { ctx, issueRequest, dropRequest } = event.detail;
  event.preventDefault();
  const dialog = document.getElementById("confirm");
  dialog.querySelector("#confirm-question").textContent = ctx.confirm;
  const yes = dialog.querySelector('[value="yes"]');
  yes.textContent = ctx.sourceElement.dataset.yes ?? yes.dataset.yes;
  dialog.returnValue = "no";
  dialog.addEventListener("close", () => (dialog.returnValue === "yes" ? issueRequest() : dropRequest()), { once: true });
  dialog.showModal();
}
