/** Erases what an inbox keeps of a person: dead letters and reasons of decisions. What was processed is kept as hashes. */
import { mentions } from "../brokers/mentions.ts";
import type { TransactionHandle, TransactionRunner } from "../core/contract/transaction.ts";
import { emptyReasons } from "../core/record-machine/reasons.ts";
import { bytesOf, numberOf, textOf } from "../sql/columns.ts";
import { checkForgetting, matching, type EventForgetting, type ForgottenEvents } from "../sql/forgetting-events.ts";
import type { InboxDeadLetters } from "./dead-letters.ts";
import type { Statements } from "./statement.ts";

const pageRows = 500;
const textMax = 1_000;

export async function forgetEvents(
  transactions: TransactionRunner<unknown>,
  statements: Statements,
  dead: InboxDeadLetters,
  request: EventForgetting,
): Promise<ForgottenEvents> {
  checkForgetting("inbox.forget", request, textMax);
  const { values, dryRun = false, actor, reason } = request;
  const inside = <Value>(fn: (handle: TransactionHandle) => Promise<Value>): Promise<Value> =>
    transactions.run((_tx, handle) => fn(handle));
  const isMeant = (row: Readonly<Record<string, unknown>>): boolean =>
    mentions(
      { envelope: textOf(row, "envelope"), payload: bytesOf(row, "payload"), error: textOf(row, "error") },
      values,
    );
  const any = { any_handler: 1, handler: "", any_id: 1, id: "", any_topic: 1, topic: "" };
  const place = (row: Readonly<Record<string, unknown>>): number => numberOf(row, "place");
  const pageOf = (verb: "listDead" | "listWaiting") => async (after: number) => {
    const values = { after, limit: pageRows, ...(verb === "listDead" && any) };
    return (await inside((handle) => statements(handle, verb, values))).rows;
  };
  const letters = await matching(pageOf("listDead"), place, isMeant);
  const waiting = await matching(pageOf("listWaiting"), place, isMeant);
  let emptied = 0;
  if (!dryRun) {
    for (const row of letters.rows) {
      const { id } = JSON.parse(textOf(row, "envelope")) as { readonly id: string };
      await dead.discard({ handler: textOf(row, "handler"), id, actor, reason });
    }
    emptied = await inside((handle) =>
      emptyReasons(
        values,
        async (value) => (await statements(handle, "findReasons", { value })).rows.map((row) => textOf(row, "reason")),
        async (named) => (await statements(handle, "forgetReasons", { reason: named })).affected,
      ),
    );
  }
  return {
    letters: letters.rows.length,
    emptied,
    waiting: waiting.rows.length,
    isCut: letters.isCut || waiting.isCut,
  };
}
