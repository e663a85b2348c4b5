/** What a framework's file makes: the harness's routes behind the framework's own parser and our adapter. */
import type { RequestListener, ServerResponse } from "node:http";
import type { Harness, HarnessAnswer, HarnessOptions } from "../../testing/adapter-suite/index.ts";

/** Loads a package that is the user's, not ours. */
export type Load = (name: string) => Promise<unknown>;

export interface Application {
  readonly harness: Harness<never>;
  readonly listener: RequestListener;
  close?(): Promise<void>;
}

export type BuildApplication = (options: HarnessOptions, load: Load) => Promise<Application>;

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

/** As a JSON parser would: bodies of other types are left alone, broken JSON throws. */
export function parseJson(type: string | undefined, bytes: Uint8Array): unknown {
  if (bytes.length === 0 || !/^application\/(?:[\w.+-]+\+)?json\b/i.test(type ?? "")) return undefined;
  return JSON.parse(Buffer.from(bytes).toString("utf8")) as unknown;
}
