// Types streamed text into its turn, each piece at its position, until the server's own rendering takes its place.
// frames "live", "delta", "notice", "place" -> text. Touches: .live elements.
//
// Positions count characters as the server does (code points), not UTF-16 units.

import { text as words } from "./words.js";

const ASK_AGAIN = 700; // ms between two requests for the text so far

export class Live {
  /** askAgain() requests the text so far. */
  constructor(askAgain) {
    this.askAgain = askAgain;
    this.asked = 0;
    this.turn = null;
  }

  /** The text so far of the open turn's running iteration. */
  begin({ turn, iteration, text }) {
    if (!turn) return this.#forget();
    const held = this.turn === turn && this.iteration === iteration ? this.held : [];
    const longer = this.turn === turn && this.iteration === iteration && this.length > length(text);
    if (!longer) this.#start(turn, iteration, text);
    this.held = held;
    this.#catchUp();
    this.paint();
  }

  delta({ turn, iteration, at, text }) {
    if (turn !== this.turn || iteration > this.iteration) this.#start(turn, iteration, "");
    if (iteration < this.iteration) return;
    this.held.push({ at, text });
    this.#catchUp();
    this.paint();
    if (this.held.length) this.#ask();
  }

  /** How many turns come before this one; null: it has begun. */
  place({ turn, before }) {
    const many = before > 1 ? words("manyBefore").replace("{n}", before) : words("oneBefore");
    this.notice({ turn, text: before === null ? words("working") : before ? many : words("next") });
  }

  notice({ turn, text }) {
    const doing = document.querySelector(`#live-${CSS.escape(turn)} [data-doing]`);
    if (doing) doing.textContent = text;
  }

  /** Put the text where it belongs, or let go of it when the page shows it from the server. */
  paint() {
    if (!this.turn) return;
    const article = document.getElementById(`turn-${this.turn}`);
    const place = article?.querySelector("[data-live-text]");
    if (!article) return;
    const shown = Number(article.dataset.iterations) >= this.iteration && !("answering" in article.dataset);
    if (!place || shown) {
      place?.replaceChildren();
      if (!("open" in article.dataset) || shown) this.text = "";
      return;
    }
    if (place.textContent.length > this.text.length || !this.text.startsWith(place.textContent)) place.textContent = "";
    const missing = this.text.slice(place.textContent.length);
    if (!missing) return;
    if (place.lastChild) place.lastChild.appendData(missing);
    else place.append(missing);
  }

  #start(turn, iteration, text) {
    Object.assign(this, { turn, iteration, text, length: length(text), held: [] });
  }

  #forget() {
    this.turn = null;
  }

  #catchUp() {
    this.held.sort((one, other) => one.at - other.at);
    while (this.held.length && this.held[0].at <= this.length) {
      const { at, text } = this.held.shift();
      const fresh = [...text].slice(this.length - at);
      this.text += fresh.join("");
      this.length += fresh.length;
    }
  }

  #ask() {
    if (Date.now() - this.asked < ASK_AGAIN) return;
    this.asked = Date.now();
    this.askAgain();
  }
}

function length(text) {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
