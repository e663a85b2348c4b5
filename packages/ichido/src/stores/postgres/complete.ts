/** `complete`: alone, in a group, or on the caller's own transaction. */
import { limits } from "../../core/contract/defaults.ts";
import type { CompleteRequest, Fenced } from "../../core/contract/store.ts";
import type { TransactionHandle } from "../../core/contract/transaction.ts";
import { encodeHeaders } from "../encoding.ts";
import { bufferOf } from "../../sql/statement.ts";
import { bytesArray, numberArray, textArray } from "./arrays.ts";
import type { StoreParts } from "./claim.ts";
import { createGrouped, type Sending } from "./group.ts";
import { completeOne } from "./in-transaction.ts";
import { numberOf } from "./row.ts";
import { encodeText } from "./text.ts";
import { toldOf } from "./values.ts";

export function createCompletions(
  parts: StoreParts,
): (request: CompleteRequest, transaction?: TransactionHandle) => Promise<Fenced> {
  const { connection, statements, withRetries, channel } = parts;

  async function sendMany(requests: readonly CompleteRequest[], { lockMs, left }: Sending): Promise<readonly Fenced[]> {
    const isTelling = requests.some(({ resources }) => resources !== undefined);
    const statement = isTelling ? statements.completeTelling : statements.complete;
    const values = [...valuesOf(requests, channel, lockMs), ...(isTelling ? toldBy(requests) : [])];
    const bounds = { withinMs: left() };
    const rows = await withRetries("always", (leftMs) => connection.run(statement, values, leftMs), bounds);
    const held = new Set(rows.map((row) => numberOf(row[0])));
    return requests.map((_, index) => (held.has(index + 1) ? "ok" : "stale"));
  }

  async function sendOne(request: CompleteRequest, sending: Sending): Promise<Fenced> {
    const [answer] = await sendMany([request], sending);
    return answer as Fenced;
  }

  /** One attempt, and errors as they are: only the caller can roll back and begin again. */
  function join(request: CompleteRequest, transaction: TransactionHandle): Promise<Fenced> {
    return completeOne(statements, request, channel, transaction);
  }

  const sendAlone = createGrouped(parts, "complete", {
    weightOf: (request) => request.response.body.byteLength,
    sendMany,
    sendOne,
  });

  return (request, transaction) => (transaction === undefined ? sendAlone(request) : join(request, transaction));
}

function toldBy(requests: readonly CompleteRequest[]): unknown[] {
  return [textArray(requests.map(({ resources }) => toldOf(resources))), String(limits.resourcesMax)];
}

function valuesOf(requests: readonly CompleteRequest[], channel: string, lockTimeoutMs: number): unknown[] {
  const bodies = requests.map(({ response }) => response.body);
  let next = 1;
  const firsts = bodies.map((body) => {
    const first = next;
    next += body.byteLength;
    return first;
  });
  return [
    textArray(requests.map(({ identity }) => encodeText(identity.key))),
    bytesArray(requests.map(({ identity }) => identity.scopeHash)),
    textArray(requests.map(({ owner }) => owner)),
    numberArray(requests.map(({ fence }) => fence)),
    textArray(requests.map(({ response }) => response.kind)),
    numberArray(requests.map(({ response }) => response.status)),
    textArray(requests.map(({ response }) => encodeHeaders(response.headers))),
    numberArray(firsts),
    numberArray(bodies.map((body) => body.byteLength)),
    // Without a copy when it travels alone.
    bodies.length === 1 && bodies[0] !== undefined ? bufferOf(bodies[0]) : Buffer.concat(bodies),
    channel,
    String(lockTimeoutMs),
  ];
}
