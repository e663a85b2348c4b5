/** Erases what an outbox keeps of a person: dead letters, keys of sent events, reasons of decisions. */
import { mentions } from "../brokers/mentions.ts";
import type { TransactionHandle, TransactionRunner } from "../core/contract/transaction.ts";
import { emptyReasons } from "../core/record-machine/reasons.ts";
import { bytesOf, numberOf, optionalText, textOf } from "../sql/columns.ts";
import { checkForgetting, matching, type EventForgetting, type ForgottenEvents } from "../sql/forgetting-events.ts";
import type { Statements } from "./database.ts";
import type { OutboxDeadLetters } from "./dead-letters.ts";

const pageRows = 500;
const textMax = 200;
const none = new Uint8Array(0);

export async function forgetEvents(
  transactions: TransactionRunner<unknown>,
  run: Statements,
  dead: OutboxDeadLetters,
  request: EventForgetting,
): Promise<ForgottenEvents> {
  checkForgetting("outbox.forget", request, textMax);
  const { values, dryRun = false, actor, reason } = request;
  const inside = <Value>(fn: (handle: TransactionHandle) => Promise<Value>): Promise<Value> =>
    transactions.run((_tx, handle) => fn(handle));
  const letters = await matching(
    async (cursor) => (await dead.list({ limit: pageRows, cursor })).letters,
    ({ seq }) => seq,
    ({ message: { payload, ...envelope }, error }) =>
      mentions({ envelope: JSON.stringify(envelope), payload, error }, values),
  );
  const waiting = await matching(
    async (after) => (await inside((handle) => run(handle, "listWaiting", { after, limit: pageRows }))).rows,
    (row) => numberOf(row, "seq"),
    (row) =>
      mentions(
        { key: optionalText(row, "message_key"), envelope: textOf(row, "envelope"), payload: bytesOf(row, "payload") },
        values,
      ),
  );
  let emptied = 0;
  if (!dryRun) {
    for (const { seq } of letters.rows) await dead.discard({ seq, actor, reason });
    await inside(async (handle) => {
      for (const value of values) {
        const keys = (await run(handle, "findSent", { value })).rows.map((row) => textOf(row, "message_key"));
        for (const key of keys.filter((each) => mentions({ key: each, envelope: "", payload: none }, [value])))
          emptied += (await run(handle, "forgetSent", { key })).affected;
      }
      emptied += await emptyReasons(
        values,
        async (value) => (await run(handle, "findReasons", { value })).rows.map((row) => textOf(row, "reason")),
        async (named) => (await run(handle, "forgetReasons", { reason: named })).affected,
      );
    });
  }
  return {
    letters: letters.rows.length,
    emptied,
    waiting: waiting.rows.length,
    isCut: letters.isCut || waiting.isCut,
  };
}
