/** Requests to the console's server, relative to where the page is mounted. */
import type {
  AskAnswer,
  AuditAnswer,
  DecideLettersAnswer,
  DecideLettersRequest,
  DoctorAnswer,
  ForgetKeyRequest,
  InboxAnswer,
  KeyAnswer,
  KeysAnswer,
  LetterAnswer,
  LettersAnswer,
  OutboxAnswer,
  PauseAnswer,
  PauseRequest,
  Permission,
  ProbesAnswer,
  ProblemAnswer,
  ProblemCode,
  RevealAnswer,
  RevealLetterAnswer,
  RevealLetterRequest,
  RevealRequest,
  SessionAnswer,
  SettleKeyRequest,
  StorageAnswer,
  TrafficAnswer,
  UnknownAnswer,
  WrittenAnswer,
} from "./contract.ts";
import { setServerClock } from "./parts/moment.tsx";
import type { Query } from "./router.ts";

/** What a person can do about it: one advice each. */
export type FailureKind =
  | "network"
  | "session"
  | "denied"
  | "permission"
  | "read-only"
  | "not-found"
  | "no-part"
  | "changed"
  | "refused"
  | "unchecked"
  | "store"
  | "busy"
  | "request"
  | "other";

const kinds: Readonly<Record<ProblemCode, FailureKind>> = {
  denied: "denied",
  "not-permitted": "permission",
  "read-only": "read-only",
  "cross-site": "session",
  token: "session",
  parameter: "request",
  body: "request",
  "too-large": "request",
  "not-found": "not-found",
  "no-part": "no-part",
  changed: "changed",
  refused: "refused",
  unchecked: "unchecked",
  method: "request",
  busy: "busy",
  timeout: "busy",
  store: "store",
};

export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly kind: FailureKind;
  /** The server's own sentence, in English. */
  readonly detail: string;
  readonly problem: ProblemAnswer | undefined;

  constructor(kind: FailureKind, detail: string, problem?: ProblemAnswer) {
    super(detail);
    this.kind = kind;
    this.detail = detail;
    this.problem = problem;
  }

  get permission(): Permission | undefined {
    return this.problem?.needs;
  }

  static of(error: unknown): ApiError {
    if (error instanceof ApiError) return error;
    // What fetch throws where nobody answers.
    if (error instanceof TypeError) return new ApiError("network", "");
    return new ApiError("other", String(error));
  }
}

async function failureOf(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    const problem = JSON.parse(text) as ProblemAnswer;
    return new ApiError(kinds[problem.code] ?? "other", problem.message, problem);
  } catch {
    // Somebody in front of the console answered: a login page, a proxy.
    const kind = response.status === 401 || response.status === 403 ? "session" : "other";
    return new ApiError(kind, `HTTP ${response.status}`);
  }
}

async function answered<Answer>(response: Response): Promise<Answer> {
  if (!response.ok) throw await failureOf(response);
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  // A login page that a proxy sends in our place.
  if (!isJson) throw new ApiError("session", "");
  return (await response.json()) as Answer;
}

async function get<Answer>(path: string, query: Query = {}, signal?: AbortSignal): Promise<Answer> {
  // What is empty goes along and is refused: a filter that says nothing must not find everything.
  const chosen = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const search = new URLSearchParams(chosen).toString();
  // Access logs write addresses down, and what is asked for may be a key or a customer.
  const isAsked = search !== "";
  const headers = { accept: "application/json", ...(isAsked && { "x-ichido-query": search }) };
  return answered(await fetch(`api/${path}${isAsked ? "?in=header" : ""}`, { headers, ...(signal && { signal }) }));
}

let token = "";
let user = "";

async function send<Answer>(path: string, body: object): Promise<Answer> {
  const headers = { "content-type": "application/json", "x-ichido-token": token };
  return answered(await fetch(`api/${path}`, { method: "POST", headers, body: JSON.stringify(body) }));
}

/**
 * A token that is over is got anew, once: whoever left the page open for a night need not type the reason again. Not in
 * another's name: who signed in meanwhile has not decided this.
 */
async function post<Answer>(path: string, body: object): Promise<Answer> {
  try {
    return await send<Answer>(path, body);
  } catch (error) {
    if (!(error instanceof ApiError) || error.problem?.code !== "token") throw error;
    const decider = user;
    await api.session();
    if (user !== decider) throw new ApiError("session", error.detail, error.problem);
    return send<Answer>(path, body);
  }
}

const at = (part: string): string => encodeURIComponent(part);

export type Side = "outbox" | "inbox";

export const api = {
  async session(signal?: AbortSignal): Promise<SessionAnswer> {
    const session = await get<SessionAnswer>("session", {}, signal);
    ({ token, user } = session);
    setServerClock(Date.parse(session.storeNow ?? session.now));
    return session;
  },
  ask: (query: Query, signal?: AbortSignal) => get<AskAnswer>("ask", query, signal),
  keys: (query: Query, signal?: AbortSignal) => get<KeysAnswer>("keys", query, signal),
  key: (handle: string, signal?: AbortSignal) => get<KeyAnswer>(`keys/${at(handle)}`, {}, signal),
  probes: (handle: string, signal?: AbortSignal) => get<ProbesAnswer>(`keys/${at(handle)}/probes`, {}, signal),
  reveal: (handle: string, body: RevealRequest) => post<RevealAnswer>(`keys/${at(handle)}/reveal`, body),
  settle: (handle: string, body: SettleKeyRequest) => post<WrittenAnswer>(`keys/${at(handle)}/settle`, body),
  forget: (handle: string, body: ForgetKeyRequest) => post<WrittenAnswer>(`keys/${at(handle)}/forget`, body),
  unknown: (signal?: AbortSignal) => get<UnknownAnswer>("unknown", {}, signal),
  outbox: (signal?: AbortSignal) => get<OutboxAnswer>("outbox", {}, signal),
  inbox: (signal?: AbortSignal) => get<InboxAnswer>("inbox", {}, signal),
  letters: (side: Side, query: Query, signal?: AbortSignal) => get<LettersAnswer>(`${side}/dead`, query, signal),
  letter: (side: Side, letter: string, signal?: AbortSignal) =>
    get<LetterAnswer>(`${side}/dead/${at(letter)}`, {}, signal),
  revealLetter: (side: Side, letter: string, body: RevealLetterRequest) =>
    post<RevealLetterAnswer>(`${side}/dead/${at(letter)}/reveal`, body),
  decide: (side: Side, decision: "replay" | "discard", body: DecideLettersRequest) =>
    post<DecideLettersAnswer>(`${side}/${decision}`, body),
  pause: (action: "pause" | "resume", body: PauseRequest) => post<PauseAnswer>(`outbox/${action}`, body),
  storage: (signal?: AbortSignal) => get<StorageAnswer>("storage", {}, signal),
  traffic: (signal?: AbortSignal) => get<TrafficAnswer>("traffic", {}, signal),
  doctor: (signal?: AbortSignal) => get<DoctorAnswer>("doctor", {}, signal),
  audit: (query: Query, signal?: AbortSignal) => get<AuditAnswer>("audit", query, signal),
};
