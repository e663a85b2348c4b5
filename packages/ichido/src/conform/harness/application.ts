/** What the file of each framework builds: the harness's routes behind the framework's own parser and our adapter. */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Context } from "../../core/contract/context.ts";
import type { Harness, HarnessAnswer, HarnessCall, HarnessOptions } from "../../testing/adapter-suite/index.ts";

/** Loads a package that the user has installed, not ours. */
export type Load = (name: string) => Promise<unknown>;

export interface Application {
  readonly harness: Harness<never>;
  readonly listener: RequestListener;
  close?(): Promise<void>;
}

export type BuildApplication = (options: HarnessOptions, load: Load) => Promise<Application>;

/** The call from Node's request, with the body as the framework parsed it. */
export function nodeCall(
  request: IncomingMessage & { readonly originalUrl?: string },
  idempotency: Context | undefined,
  body?: unknown,
): HarnessCall {
  const { method = "GET", url = "/", originalUrl = url, headers } = request;
  const header = (name: string): string | undefined => headers[name] as string | undefined;
  return { method, target: originalUrl, header, body, idempotency };
}

export function pieces(body: Uint8Array): readonly Uint8Array[] {
  const size = Math.max(1, Math.ceil(body.length / 7));
  return Array.from({ length: Math.ceil(body.length / size) }, (_, index) =>
    body.subarray(index * size, (index + 1) * size),
  );
}

/** Header lines by name, for frameworks that take all values of a name at once. */
export function linesByName({ headers }: HarnessAnswer): readonly (readonly [string, string | string[]])[] {
  return [...new Set(headers.map(([name]) => name))].map((name) => {
    const values = headers.filter(([each]) => each === name).map(([, value]) => value);
    return [name, values.length === 1 ? (values[0] ?? "") : values] as const;
  });
}

export async function writeAnswer(response: ServerResponse, answer: HarnessAnswer): Promise<void> {
  response.statusCode = answer.status;
  for (const [name, value] of linesByName(answer)) response.setHeader(name, value);
  if (answer.way === "stream") {
    for (const piece of pieces(answer.body)) {
      response.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  } else {
    response.end(answer.body);
  }
}

/** As a JSON parser would: it leaves bodies of other types alone, and throws for broken JSON. */
export function parseJson(type: string | undefined, bytes: Uint8Array): unknown {
  if (bytes.length === 0 || !/^application\/(?:[\w.+-]+\+)?json\b/i.test(type ?? "")) return undefined;
  return JSON.parse(Buffer.from(bytes).toString("utf8")) as unknown;
}
