// Requests to /api/v1, and its events.
import { T } from "./text.js";

// The session with which this page has begun. Its token is in what the page changes.
let own = {};
const begin = (value) => { own = value; return value; };

export class Problem extends Error {
  constructor(problem) { super(problem.detail ?? problem.title); Object.assign(this, problem); }
}

export async function call(method, path, body, headers = {}) {
  const options = { method, headers: { accept: "application/json", ...headers }, credentials: "same-origin" };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["content-type"] ??= method === "PATCH" && headers["if-match"] ? "application/merge-patch+json" : "application/json";
  }
  if (method !== "GET" && own.csrf_token) options.headers["x-csrf-token"] = own.csrf_token;
  let response;
  try {
    response = await fetch(`/api/v1${path}`, options);
  } catch {
    throw new Problem({ status: 0, detail: T.noAnswer });
  }
  const text = await response.text();
  const value = text ? JSON.parse(text) : null;
  if (!response.ok) {
    if (response.status === 401 && !path.startsWith("/session")) window.dispatchEvent(new Event("signed-out"));
    if (response.status === 403 && own.csrf_token) {
      const other = await otherSession();
      if (other && other.user === own.user && other.role === own.role) {
        begin(other);
        return call(method, path, body, headers);
      }
      if (other) {
        begin({});
        window.dispatchEvent(new CustomEvent("signed-out", { detail: { detail: T.otherUser(other.user) } }));
      }
    }
    throw new Problem(value ?? { status: response.status, detail: response.statusText });
  }
  return { value, tag: response.headers.get("etag") };
}

export const get = async (path) => (await call("GET", path)).value;
export const post = async (path, body, headers) => (await call("POST", path, body ?? {}, headers)).value;

// The session of the browser if it is another one: a user has signed in in another window.
async function otherSession() {
  try {
    const value = await get("/session");
    return value.csrf_token === own.csrf_token ? null : value;
  } catch { return null; }
}

export const session = async () => begin(await get("/session"));
export const signIn = async (user, password) => begin((await call("POST", "/session", { user, password })).value);

// Sign-in with the identity provider: its name, the way there, and the way back.
export const provider = async () => (await get("/session/oidc")).provider;
export const beginSignIn = async () => (await post("/session/oidc")).authorization_url;

export async function endSignIn(parameters) {
  const sent = {};
  for (const name of ["state", "code", "iss", "error"]) {
    if (parameters.has(name)) sent[name] = parameters.get(name);
  }
  return begin(await post("/session/oidc/callback", { state: "", ...sent }));
}

// Time until what the server has refused is tried again, in ms.
const AGAIN = 5000;

// The browser resumes with Last-Event-ID by itself after a lost connection, but not after an answer
// that refuses it: the session has ended by its time or with the core, or too many read events.
// `open` is called with each connection: what has changed before the first event is not known.
export function events(kinds, handlers) {
  let source = null; let timer = null; let isOver = false;
  function open(isFirst) {
    source = new EventSource(`/api/v1/events?kinds=${kinds.join(",")}`);
    for (const kind of kinds) {
      source.addEventListener(kind, (event) => handlers[kind]?.(JSON.parse(event.data)));
    }
    source.addEventListener("open", () => { handlers.open?.(); if (!isFirst) handlers.reset?.(); });
    source.addEventListener("reset", () => handlers.reset?.());
    source.addEventListener("error", () => { if (source.readyState === EventSource.CLOSED) refused(); });
  }
  async function refused() {
    try {
      await get("/session");
    } catch (problem) {
      if (problem.status === 401 && !isOver) { window.dispatchEvent(new Event("signed-out")); return; }
    }
    if (!isOver) timer = setTimeout(() => open(false), AGAIN);
  }
  open(true);
  return () => { isOver = true; clearTimeout(timer); source.close(); };
}

// Waits until a job has ended, and passes on its progress.
export async function job(started, progress, isOver = () => false) {
  let current = started;
  while (current.state === "running" && !isOver()) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    current = await get(`/jobs/${current.id}`);
    progress?.(current);
  }
  if (current.state === "failed") throw new Problem({ status: 409, detail: current.error });
  return current;
}

export const key = () => crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
