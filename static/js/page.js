// Puts the page together: socket, outbox, live text, message box; events become refetched fragments.
// Touches: the document.

import { Composer } from "./composer.js";
import { setUpDrawers } from "./drawers.js";
import { setUpFaults, toast } from "./faults.js";
import { Live } from "./live.js";
import { Outbox } from "./outbox.js";
import { setUpScroll } from "./scroll.js";
import { Socket } from "./socket.js";
import { text } from "./words.js";

const EVERY_PANEL = ["plan-changed", "state-changed", "memory-changed", "trace-changed"];
const turns = document.getElementById("turns");
const conversation = document.getElementById("conversation").dataset.conversation;
const connection = document.getElementById("connection");
let stopping = null; // a turn whose Stop could not be sent yet

// ---- what goes out ------------------------------------------------------------------------------

const scroll = setUpScroll();
const composer = new Composer(conversation, { onSend: say, onStop: stop });
const live = new Live(() => socket.send({ type: "resync" }));
const outbox = new Outbox(conversation, (frame) => socket.send(frame), (words) => composer.fill(words));
const socket = new Socket(`/ws/c/${conversation}/`, { onOpen: catchUp, onFrame: receive, onState: showConnection });

function say(words) {
  outbox.add(words);
  scroll.toEnd();
}

function stop(turn) {
  stopping = socket.send({ type: "stop", turn }) ? null : turn;
}

/** After every (re)connect: send what is waiting, and look at everything anew. */
function catchUp() {
  outbox.flush();
  if (stopping) stop(stopping);
  const open = new Set(turns.querySelectorAll(".turn[data-open]"));
  // A turn that had ended may have been taken up again meanwhile; that is only ever the last one.
  if (turns.querySelector(".turn:last-of-type")) open.add(turns.querySelector(".turn:last-of-type"));
  for (const turn of open) announce("turn-changed", turn);
  if (!open.size) announce("turn-changed", document.body);
  for (const name of [...EVERY_PANEL, "conversations-changed", "new-turns"]) announce(name, document.body);
}

// ---- what comes in ------------------------------------------------------------------------------

function receive(frame) {
  if (frame.type === "changed") for (const name of frame.changed) changed(name, frame.turn);
  else if (frame.type === "delta") live.delta(frame);
  else if (frame.type === "live") live.begin(frame);
  else if (frame.type === "notice") live.notice(frame);
  else if (frame.type === "place") live.place(frame);
  else if (frame.type === "refused") outbox.refused(frame.id, frame.message, frame.again);
  else if (frame.type === "said") {
    outbox.said(frame.id);
    composer.state(frame.turn, false); // Stop works from now on, before the header has been fetched
    changed("turn-changed", frame.turn);
  }
}

/** A turn's event starts at its own element, so that only that one is fetched, and rises to the body. */
function changed(name, turn) {
  if (name !== "turn-changed") return announce(name, document.body);
  const element = turn && document.getElementById(`turn-${turn}`);
  if (element) return announce(name, element);
  const open = turn ? [] : turns.querySelectorAll(".turn[data-open]");
  for (const each of open) announce(name, each);
  if (!open.length) announce(name, document.body);
  if (turn) announce("new-turns", document.body);
}

function announce(name, target) {
  target.dispatchEvent(new CustomEvent(name, { bubbles: true }));
}

// ---- fragments ----------------------------------------------------------------------------------

document.addEventListener("htmx:before:request", ({ target, detail }) => {
  if (target.id !== "newer") return;
  // Which turns are new is known only now: the request may have waited for the one before it.
  const last = turns.querySelector(".turn:last-of-type");
  detail.ctx.request.action += `?after=${last?.dataset.number ?? 0}`;
});

document.addEventListener("htmx:before:swap", ({ target, detail }) => {
  if (target.id !== "newer") return;
  for (const task of detail.tasks) {
    for (const turn of task.fragment.querySelectorAll?.(".turn") ?? []) {
      if (document.getElementById(turn.id)) turn.remove();
    }
  }
});

document.addEventListener("htmx:after:swap", () => {
  outbox.settle();
  live.paint();
  showState();
});

let told = "";
function showState() {
  const state = document.getElementById("turn-state");
  const words = state?.textContent.trim() ?? "";
  composer.state(state?.dataset.turn ?? "", state?.dataset.waits && turns.querySelector(".turn:last-of-type > .question"));
  const waiting = Number(document.querySelector("#conversation-list [data-waiting]")?.dataset.waiting ?? 0);
  const here = state?.dataset.waits ? words : "";
  const title = document.querySelector("#header .title")?.textContent ?? "";
  document.title = [waiting ? `(${waiting})` : "", here ? `${here} –` : "", `${title} – agentweb`].filter(Boolean).join(" ");
  if (words !== told) document.getElementById("announce").textContent = words;
  told = words;
}

// ---- the connection ---------------------------------------------------------------------------------

let patience = 0;
function showConnection(state) {
  outbox.connection(state === "connected");
  clearTimeout(patience);
  const show = () => {
    connection.dataset.state = state === "connected" ? "connected" : "lost";
    connection.title = text(state === "lost" ? "connecting" : state);
    connection.querySelector(".words").textContent = connection.title;
  };
  // A reconnect that takes a moment is not worth a word.
  if (state === "connecting") patience = setTimeout(show, 1_500);
  else show();
}

// ---- keys and clicks --------------------------------------------------------------------------------

addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k") {
    event.preventDefault();
    document.getElementById("new-conversation").requestSubmit();
  }
});

document.addEventListener("click", ({ target }) => {
  const example = target.closest("[data-example]");
  if (example) say(example.textContent);
});

if (/Mac|iP(hone|ad)/.test(navigator.platform)) {
  for (const key of document.querySelectorAll("[data-mac]")) key.textContent = key.dataset.mac;
}

setUpDrawers();
setUpFaults(toast);
showState();
