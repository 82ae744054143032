// The message box: Enter sends, Shift+Enter is a new line, an input method's Enter is its own; drafts are kept.
// keys -> onSend(text), onStop(turn). Touches: #composer, sessionStorage.

export class Composer {
  constructor(conversation, { onSend, onStop }) {
    Object.assign(this, { onSend, onStop });
    this.key = `draft:${conversation}`;
    this.form = document.getElementById("composer");
    this.field = document.getElementById("message");
    this.stop = document.getElementById("stop");
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    this.field.addEventListener("keydown", (event) => this.#key(event));
    this.field.addEventListener("input", () => this.#changed());
    this.stop.addEventListener("click", () => this.#stop());
    if (!this.field.value) this.field.value = read(this.key);
    this.#changed();
    if (matchMedia("(hover: hover)").matches) this.field.focus();
  }

  /** turn: the one that is open, or empty; asks: it waits for an answer. */
  state(turn, asks) {
    this.turn = turn;
    this.stop.disabled = !turn;
    const { idle, steer, answer } = this.field.dataset;
    this.field.placeholder = asks ? answer : turn ? steer : idle;
  }

  fill(words) {
    this.field.value = this.field.value.trim() ? `${words}\n${this.field.value}` : words;
    this.#changed();
    this.field.focus();
  }

  #key(event) {
    // keyCode 229: Safari ends a composition before the Enter that confirmed it arrives.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.#send();
  }

  #send() {
    const words = this.field.value;
    if (!words.trim()) return;
    this.field.value = "";
    this.#changed();
    this.onSend(words);
    this.field.focus();
  }

  #stop() {
    if (!this.turn) return;
    this.stop.disabled = true; // until the page says how the turn stands
    this.onStop(this.turn);
    this.field.focus();
  }

  #changed() {
    write(this.key, this.field.value);
    if (!CSS.supports("field-sizing", "content")) this.field.rows = Math.min(10, this.field.value.split("\n").length);
  }
}

function read(key) {
  try {
    return sessionStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}

function write(key, value) {
  try {
    if (value) sessionStorage.setItem(key, value);
    else sessionStorage.removeItem(key);
  } catch {
    // Storage is full or switched off: the draft lives as long as the page.
  }
}
