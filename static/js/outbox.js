// What a person sent and the server has not acknowledged: shown, kept over a reload, sent again after a reconnect.
// The server knows each message by its id, so that one sent twice is one.
// Touches: sessionStorage, #outbox.

import { text } from "./words.js";

export class Outbox {
  /** transmit(frame) says whether it went out; onEdit(text) takes a refused message back into the message box. */
  constructor(conversation, transmit, onEdit) {
    Object.assign(this, { transmit, onEdit });
    this.key = `outbox:${conversation}`;
    this.box = document.getElementById("outbox");
    this.longest = Number(document.getElementById("message").dataset.limit);
    this.waiting = new Map(this.#load().map((entry) => [entry.id, entry]));
    for (const entry of this.waiting.values()) this.#show(entry);
    this.settle();
  }

  add(words) {
    const entry = { id: newId(), text: words };
    // The server would refuse it too, after a frame that a proxy on the way may cut the line for.
    if (words.length > this.longest) entry.refused = text("long");
    this.waiting.set(entry.id, entry);
    this.#save();
    this.#show(entry);
    if (!entry.refused) this.#transmit(entry);
  }

  /** Send again all that nobody acknowledged. */
  flush() {
    for (const entry of this.waiting.values()) if (!entry.said && !entry.refused) this.#transmit(entry);
  }

  said(id) {
    const entry = this.waiting.get(id);
    if (!entry) return;
    entry.said = true;
    this.#save();
    // The bubble stays until the server's own is on the page; should that never come, it does not stay for ever.
    setTimeout(() => this.#drop(id), 10_000);
    this.settle();
  }

  /** again: the same message may be taken a little later. */
  refused(id, why, again) {
    const entry = this.waiting.get(id);
    if (!entry) return;
    entry.refused = why;
    entry.again = again;
    this.#save();
    this.#show(entry);
  }

  /** Take away what the page shows from the server now. */
  settle() {
    for (const id of this.waiting.keys()) {
      if (document.querySelector(`#turns [data-client-id="${CSS.escape(id)}"]`)) this.#drop(id);
    }
  }

  connection(isOpen) {
    for (const mark of this.box.querySelectorAll("[data-mark]")) mark.textContent = text(isOpen ? "sending" : "unsent");
  }

  #sendAgain(entry) {
    delete entry.refused;
    this.#save();
    this.#show(entry);
    this.#transmit(entry);
  }

  #transmit(entry) {
    const out = this.transmit({ type: "say", id: entry.id, text: entry.text });
    const mark = this.#element(entry.id)?.querySelector("[data-mark]");
    if (mark) mark.textContent = text(out ? "sending" : "unsent");
  }

  #show(entry) {
    const bubble = make("div", "bubble", entry.text);
    bubble.dir = "auto";
    const shown = make("div", `you ${entry.refused ? "refused" : "unsent"}`);
    shown.dataset.outbox = entry.id;
    shown.append(bubble);
    if (entry.refused) {
      const actions = make("div", "actions");
      const back = make("button", "button small", text("edit"));
      const drop = make("button", "button small quiet", text("dismiss"));
      back.type = drop.type = "button";
      back.onclick = () => {
        this.onEdit(entry.text);
        this.#drop(entry.id);
      };
      drop.onclick = () => this.#drop(entry.id);
      if (entry.again) {
        const again = make("button", "button small primary", text("again"));
        again.type = "button";
        again.onclick = () => this.#sendAgain(entry);
        actions.append(again);
      }
      actions.append(back, drop);
      shown.append(make("p", "why", entry.refused), actions);
    } else {
      const mark = make("span", "mark faint");
      mark.dataset.mark = "";
      shown.append(mark);
    }
    const before = this.#element(entry.id);
    if (before) before.replaceWith(shown);
    else this.box.append(shown);
  }

  #element(id) {
    return this.box.querySelector(`[data-outbox="${CSS.escape(id)}"]`);
  }

  #drop(id) {
    this.waiting.delete(id);
    this.#element(id)?.remove();
    this.#save();
  }

  #load() {
    try {
      return JSON.parse(sessionStorage.getItem(this.key) ?? "[]");
    } catch {
      return [];
    }
  }

  #save() {
    try {
      const kept = [...this.waiting.values()].filter((entry) => !entry.said);
      if (kept.length) sessionStorage.setItem(this.key, JSON.stringify(kept));
      else sessionStorage.removeItem(this.key);
    } catch {
      // Storage is full or switched off: the message is still on its way, only a reload would lose it.
    }
  }
}

function make(tag, className, words = "") {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = words;
  return element;
}

function newId() {
  // crypto.randomUUID is there on https and localhost only.
  if (crypto.randomUUID) return crypto.randomUUID();
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
