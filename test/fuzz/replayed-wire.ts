/** The same stored answers through every framework, as bytes on a connection: one answer, whatever the row says. */
import type { StoredResponse } from "../../packages/ichido/src/core/contract/record.ts";
import { memoryStore } from "../../packages/ichido/src/stores/memory/index.ts";
import type { Store } from "../../packages/ichido/src/core/contract/store.ts";
import { openApps } from "./frameworks.ts";
import { drawLines, forbidden, isFinal, isSoundLine, statuses } from "./hostile-lines.ts";
import { answerIn, contentOf, exchange, valuesOf } from "./raw-exchange.ts";
import { must, type Random, type Target } from "./target.ts";

/** Keeps another answer than it was given, as if somebody had edited the row. */
function editedStore(row: { edited: StoredResponse | undefined }): Store {
  const store = memoryStore({ scopeShareMax: 1 });
  return {
    ...store,
    complete: (request, transaction) =>
      store.complete(row.edited === undefined ? request : { ...request, response: row.edited }, transaction),
  };
}

const requestOf = (key: string): string =>
  `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\nContent-Type: application/json\r\nIdempotency-Key: ${key}\r\n\r\n{}`;

/** Replays of one connection that had a body are never without their length, nor with more than one way to tell it. */
function judge(bytes: Buffer, stored: StoredResponse, shown: unknown): void {
  const answer = answerIn(bytes);
  must(answer !== undefined, "not one answer", bytes, shown);
  must(!bytes.includes(forbidden), "a line that must not be sent", bytes, shown);
  must(answer.status === (isFinal(stored.status) ? stored.status : 500), "another status", answer.status, shown);
  const lengths = valuesOf(answer, "content-length");
  const codings = valuesOf(answer, "transfer-encoding");
  must(
    lengths.length <= 1 && codings.length <= 1 && lengths.length + codings.length <= 1,
    "framed twice",
    bytes,
    shown,
  );
  const hasContent = ![204, 205, 304].includes(stored.status);
  // RFC 9110 section 8.6: a 304 may tell the length that a 200 would have.
  if (lengths.length === 1 && hasContent)
    must(Number(lengths[0]) === answer.body.length, "another length", bytes, shown);
  must(valuesOf(answer, "date").length === 1, "not one date", bytes, shown);
  if (!isFinal(stored.status)) return;
  must(valuesOf(answer, "idempotency-replayed").join() === "true", "not marked once", bytes, shown);
  const content = contentOf(answer);
  must(content?.equals(hasContent ? stored.body : Buffer.alloc(0)) === true, "another body", bytes, shown);
  // Web headers join lines of one name; text beyond ASCII may be written in one of two ways.
  for (const [name, value] of stored.headers.filter((line) => isSoundLine(line))) {
    // Fastify keeps lines in a plain object, which has no member of that name.
    if (/[^ -~]/.test(value) || name === "__proto__") continue;
    must(
      valuesOf(answer, name).some((each) => each.includes(value.trim())),
      "a sound line is gone",
      name,
      bytes,
      shown,
    );
  }
}

export const replayedWire: Target = {
  name: "replayed-wire",
  promise: "R-02 R-03 R-05 A23 what a row holds never splits an answer, and never reaches a caller when it must not",
  inputs: 600,
  async open() {
    const row: { edited: StoredResponse | undefined } = { edited: undefined };
    const apps = await openApps(() => editedStore(row));
    let count = 0;
    async function attempt(random: Random): Promise<void> {
      count += 1;
      const app = random.pick(apps);
      const body = Buffer.from("x".repeat(random.int(0, 40)));
      row.edited = { kind: "full", status: random.pick(statuses), headers: drawLines(random), body };
      const key = `fuzz-${count}`;
      const first = answerIn(await exchange(app.port, [requestOf(key)]));
      must(first?.status === 201, "the first request was not served", app.name, first);
      const runs = app.runs();
      const replay = await exchange(app.port, [requestOf(key)]);
      must(app.runs() === runs, "the handler ran again", app.name);
      judge(replay, row.edited, { app: app.name, stored: row.edited });
    }
    return { attempt, close: async () => void (await Promise.all(apps.map((app) => app.close()))) };
  },
};
