/** A browser's requests to a console, and a forger's. */
import {
  console as ichidoConsole,
  type Console,
  type ConsoleEngine,
  type ConsoleOptions,
  type Permission,
} from "ichido/console";
import type { RecordView, SessionAnswer } from "../../packages/ichido/src/console/contract.ts";

export const all: readonly Permission[] = ["read", "reveal", "settle", "events", "erase"];
export const origin = "http://console.test";

export interface Answer<Value = Record<string, unknown>> {
  readonly status: number;
  readonly body: Value;
  readonly text: string;
  readonly headers: Headers;
}

export interface Visitor {
  readonly get: <Value = Record<string, unknown>>(
    path: string,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Answer<Value>>;
  readonly post: <Value = Record<string, unknown>>(
    path: string,
    body: unknown,
    headers?: Readonly<Record<string, string | undefined>>,
  ) => Promise<Answer<Value>>;
  readonly console: Console;
  readonly recordOf: (key: string) => Promise<RecordView>;
  readonly token: () => Promise<string>;
}

async function answerOf<Value>(response: Response): Promise<Answer<Value>> {
  const text = await response.text();
  const isJson = (response.headers.get("content-type") ?? "").startsWith("application/json");
  return {
    status: response.status,
    text,
    headers: response.headers,
    body: (isJson && text !== "" ? JSON.parse(text) : undefined) as Value,
  };
}

const defined = (headers: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined));

/** Whoever sends `x-user` is let in with what this visitor may. */
export function visit(
  ichido: ConsoleEngine,
  options: ConsoleOptions<Request> & { readonly can?: readonly Permission[]; readonly user?: string } = {},
): Visitor {
  const { can = all, user = "ann", ...given } = options;
  const console = ichidoConsole<Request>(ichido, { authorize: () => ({ user, can }), at: "/console", ...given });
  const visitor: Visitor = {
    console,
    async get(path, headers = {}) {
      const lines = { "sec-fetch-site": "same-origin", ...headers };
      return answerOf(await console.fetch(new Request(`${origin}/console/${path}`, { headers: lines })));
    },
    async post(path, body, headers = {}) {
      const lines = defined({
        "content-type": "application/json",
        "sec-fetch-site": "same-origin",
        "x-ichido-token": "x-ichido-token" in headers ? undefined : await visitor.token(),
        ...headers,
      });
      const request = { method: "POST", headers: lines, body: JSON.stringify(body) };
      return answerOf(await console.fetch(new Request(`${origin}/console/${path}`, request)));
    },
    async recordOf(key) {
      const { body } = await visitor.get<{ records: readonly RecordView[] }>(`api/keys?key=${key}`);
      const [record] = body.records;
      if (record === undefined) throw new Error("there is no such record");
      return record;
    },
    async token() {
      return (await visitor.get<SessionAnswer>("api/session")).body.token;
    },
  };
  return visitor;
}
