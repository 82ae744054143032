// One websocket for the page: opens, reopens for ever, tells a dead line from a quiet one.
// frames in, frames out. Touches: the network.

const FIRST_WAIT = 400; // ms; grows to LONGEST_WAIT, each time by chance, so that many tabs do not come back at once
const LONGEST_WAIT = 15_000;
const QUIET = 25_000; // ms without a frame until the line is tried
const ANSWER_WITHIN = 8_000; // ms a line that was tried has to answer
const SIGNED_OUT = 4401;
const NOT_FOUND = 4404;
const RESTARTING = 4412;

export class Socket {
  /** onOpen(), onFrame(frame), onState("connected" | "connecting" | "restarting" | "lost"). */
  constructor(path, { onOpen, onFrame, onState }) {
    this.url = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`;
    Object.assign(this, { onOpen, onFrame, onState });
    this.failures = 0;
    this.heard = 0;
    setInterval(() => this.#probe(), 5_000);
    // What the browser knows better than a timer, which a hidden tab or a sleeping laptop holds back.
    addEventListener("online", () => this.#hurry());
    addEventListener("pageshow", (event) => event.persisted && this.#hurry());
    document.addEventListener("visibilitychange", () => document.hidden || this.#hurry());
    this.#open();
  }

  get isOpen() {
    return this.socket?.readyState === WebSocket.OPEN;
  }

  /** Whether the frame went out. What must arrive is kept by the caller until it is acknowledged. */
  send(frame) {
    if (!this.isOpen) return false;
    this.socket.send(JSON.stringify(frame));
    return true;
  }

  #open() {
    clearTimeout(this.timer);
    const socket = (this.socket = new WebSocket(this.url));
    socket.onopen = () => {
      this.heard = Date.now();
      this.tried = 0;
    };
    socket.onmessage = (event) => {
      this.heard = Date.now();
      this.tried = 0;
      const frame = JSON.parse(event.data);
      if (socket !== this.socket) return;
      if (!this.connected) {
        // The first frame says that the server let us in; an open socket alone does not.
        this.connected = true;
        this.failures = 0;
        this.onState("connected");
        this.onOpen();
      }
      if (frame.type !== "pong") this.onFrame(frame);
    };
    socket.onclose = (event) => socket === this.socket && this.#closed(event.code);
  }

  #closed(code) {
    // The page itself says it better: it leads to the sign-in page, or to "not found".
    if (code === SIGNED_OUT || code === NOT_FOUND) return location.reload();
    const lost = this.failures || !this.connected ? "lost" : "connecting";
    this.onState(code === RESTARTING ? "restarting" : lost);
    this.connected = false;
    const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 1.7 ** this.failures++) * (0.5 + Math.random());
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#open(), wait);
  }

  #probe() {
    if (!this.isOpen) return;
    const now = Date.now();
    if (this.tried && now - this.tried > ANSWER_WITHIN) return this.#drop();
    if (!this.tried && now - this.heard > QUIET && this.send({ type: "ping" })) this.tried = now;
  }

  #hurry() {
    if (this.isOpen) {
      if (!this.tried && Date.now() - this.heard > 5_000 && this.send({ type: "ping" })) this.tried = Date.now();
    } else if (this.socket?.readyState !== WebSocket.CONNECTING) {
      this.#open();
    }
  }

  /** Give up on a line that does not answer: its own close event may take minutes to come. */
  #drop() {
    const socket = this.socket;
    this.socket = null;
    this.tried = 0;
    socket.close();
    this.#closed(1006);
  }
}
