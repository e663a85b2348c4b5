/**
 * The business rows that say which events were committed, and the effects of the handler that writes rows. Nothing is
 * unique but the places: a second effect must show.
 */
import type { TransactionHandle, TransactionRunner } from "../../packages/ichido/src/core/contract/transaction.ts";
import { placed } from "../sides/side.ts";

export interface EventRow {
  readonly id: string;
  readonly topic: string;
  readonly subject: string;
  readonly number: number;
}

export interface EffectRow {
  readonly handler: string;
  readonly id: string;
}

/** Rows of one subject get their places in the order in which their transactions commit. */
const place = {
  postgres: "place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
  mysql: "place bigint PRIMARY KEY AUTO_INCREMENT",
  sqlite: "place integer PRIMARY KEY AUTOINCREMENT",
} as const;

const tables = (dialect: keyof typeof place): readonly string[] => [
  `CREATE TABLE orders (${place[dialect]}, id varchar(100) NOT NULL, topic varchar(100) NOT NULL, ` +
    "subject varchar(100) NOT NULL, number bigint NOT NULL)",
  `CREATE TABLE handled (${place[dialect]}, handler varchar(100) NOT NULL, id varchar(100) NOT NULL)`,
  "CREATE TABLE subjects (name varchar(100) PRIMARY KEY, version bigint NOT NULL)",
  "CREATE TABLE looked (name varchar(200) NOT NULL)",
];

export const subjects: readonly string[] = Array.from({ length: 40 }, (_, at) => `subject-${at}`);

export type Rows = readonly Readonly<Record<string, unknown>>[];

export async function run(handle: TransactionHandle, sql: string, ...values: readonly unknown[]): Promise<Rows> {
  return (await handle.execute(placed(handle, sql), values)).rows;
}

const alone = (runner: TransactionRunner<unknown>, sql: string, ...values: readonly unknown[]): Promise<Rows> =>
  runner.run((_tx, handle) => run(handle, sql, ...values), { unwatched: true });

export async function createTables(runner: TransactionRunner<unknown>): Promise<void> {
  for (const table of tables(runner.dialect)) await alone(runner, table);
  for (const name of subjects) await alone(runner, "INSERT INTO subjects (name, version) VALUES (?, 0)", name);
}

/** Whoever writes about a subject waits here for the one before. */
export const lockSubject = (handle: TransactionHandle, name: string): Promise<Rows> =>
  run(handle, "UPDATE subjects SET version = version + 1 WHERE name = ?", name);

export const addEvent = (handle: TransactionHandle, { id, topic, subject, number }: EventRow): Promise<Rows> =>
  run(handle, "INSERT INTO orders (id, topic, subject, number) VALUES (?, ?, ?, ?)", id, topic, subject, number);

export const addHandled = (handle: TransactionHandle, { handler, id }: EffectRow): Promise<Rows> =>
  run(handle, "INSERT INTO handled (handler, id) VALUES (?, ?)", handler, id);

/** In the order of their places. */
export async function readEvents(runner: TransactionRunner<unknown>): Promise<readonly EventRow[]> {
  const rows = await alone(runner, "SELECT id, topic, subject, number FROM orders ORDER BY place");
  return rows.map(({ id, topic, subject, number }) => ({
    id: String(id),
    topic: String(topic),
    subject: String(subject),
    number: Number(number),
  }));
}

export async function readHandled(runner: TransactionRunner<unknown>): Promise<readonly EffectRow[]> {
  const rows = await alone(runner, "SELECT handler, id FROM handled ORDER BY place");
  return rows.map(({ handler, id }) => ({ handler: String(handler), id: String(id) }));
}

/** For whoever does without an inbox: what it has seen, by name. */
export const looked = {
  has: async (runner: TransactionRunner<unknown>, name: string): Promise<boolean> =>
    (await alone(runner, "SELECT name FROM looked WHERE name = ?", name)).length > 0,
  note: (runner: TransactionRunner<unknown>, name: string): Promise<Rows> =>
    alone(runner, "INSERT INTO looked (name) VALUES (?)", name),
};
