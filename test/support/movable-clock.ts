/** PostgreSQL whose time can be moved by a test. */
import type pg from "pg";

/**
 * A `clock_timestamp()` that is found before the server's own and adds what the test put into a table. Statements that
 * name the function plainly, as all of the store's do, see a server whose clock jumps. The table has a key because the
 * store's functions turn scans off: a scan would seem so dear that every session compiled it (JIT), which cost more than
 * all of a suite's statements.
 */
const movableClock = `
  create schema test_clock;
  create table test_clock.shift (ms bigint primary key);
  insert into test_clock.shift values (0);
  create function test_clock.clock_timestamp() returns timestamptz volatile language sql as
    'select pg_catalog.clock_timestamp() + (select ms from test_clock.shift) * interval ''1 ms''';
`;

/** For sessions that begin afterwards. */
export async function addMovableClock(admin: pg.Client, database: string): Promise<void> {
  await admin.query(movableClock);
  await admin.query(`alter database ${database} set search_path = public, test_clock, pg_catalog`);
}

export async function moveClock(admin: pg.Client, aheadMs: number): Promise<void> {
  await admin.query("update test_clock.shift set ms = $1", [Math.round(aheadMs)]);
}
