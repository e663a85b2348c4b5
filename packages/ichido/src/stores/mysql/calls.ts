/** Calls of the store: each looks at the server before the first one and after a failure, and bounds all its statements. */
import { withDeadline } from "../../core/contract/deadline.ts";
import { systemEnvironment } from "../../core/contract/environment.ts";
import type { DriverClient } from "./client.ts";
import type { Dialect } from "./dialect.ts";
import { failureOf, isCutShort } from "./failures.ts";
import { createRenewals } from "./renewals.ts";
import { assertFits, lookAtServer } from "./server.ts";
import { countdown, createSession, type Run } from "./session.ts";

/**
 * A group is not patient: a row that somebody else has locked would hold up all of them. The server undoes what it cuts
 * short; a connection given up would leave the statement, and the locks that it has already, behind.
 */
const shortened = "set statement max_statement_time = 0.25 for ";

export function createCalls(pool: DriverClient, callTimeoutMs: number, dialect: Dialect) {
  let checked: Promise<void> | undefined;
  let isReady = false;
  let packetBytesMax = Number.POSITIVE_INFINITY;
  let mayGroup = false;
  const renewals = createRenewals(pool, look);
  const session = createSession(pool, { timeoutMs: callTimeoutMs, beforeResend: look, renewOnce: renewals.once });

  async function look(probe: Run): Promise<void> {
    ({ packetBytesMax, mayGroup } = await lookAtServer(probe, dialect));
  }

  async function ping(): Promise<void> {
    await look(session.probe);
    for (const right of ["mayInsert", "mayUpdate", "mayDelete"] as const) {
      await dialect.send(session.probe, right);
    }
  }

  /** Once before the first call, and again after a failure: behind the same address there may be another server now. */
  async function ready(): Promise<void> {
    checked ??= ping();
    try {
      await checked;
      isReady = true;
    } catch (error) {
      checked = undefined;
      throw error;
    }
  }

  function lookAgain(): void {
    checked = undefined;
    isReady = false;
  }

  function bounded(timeoutMs: number, send: Run, makeReady: () => Promise<void>): Run {
    const left = countdown(timeoutMs);
    return async (sql, values) => {
      if (!isReady) {
        await withDeadline(systemEnvironment, left(), makeReady).catch((error: unknown) => {
          // The next call must not wait for a look that the server does not answer.
          lookAgain();
          throw failureOf(error);
        });
      }
      assertFits(packetBytesMax, sql, values);
      try {
        return await send(sql, values, left());
      } catch (error) {
        if (!isCutShort(error)) lookAgain();
        throw error;
      }
    };
  }

  return {
    session,
    /** For one call: all its statements share its time. */
    call: (timeoutMs: number = callTimeoutMs) => bounded(timeoutMs, session.run, ready),
    /** Whether calls may travel together. */
    mayGroup: () => isReady && mayGroup,
    /** For a group of calls: each of its statements is sent once, and what writes is cut short by the server. */
    groupCall: (): Run => {
      const send = bounded(callTimeoutMs / 2, session.runOnce, ready);
      return (sql, values) => send(/^\s*select/i.test(sql) ? sql : shortened + sql, values);
    },
    // A claim that got no connection makes the next call look again: renewals must not wait for that look.
    renewal: () => bounded(callTimeoutMs, session.renewals.run, () => look(session.renewals.probe)),
    /** For statements that must share a connection, without a bound of their own. */
    alone: async <T>(work: (run: Run) => Promise<T>): Promise<T> => {
      try {
        await ready();
        const fitting =
          (send: Run): Run =>
          async (sql, values, timeoutMs) => {
            assertFits(packetBytesMax, sql, values);
            return send(sql, values, timeoutMs);
          };
        return await session.onOneConnection((send) => work(fitting(send)), "again when lost");
      } catch (error) {
        lookAgain();
        throw error;
      }
    },
    ping,
    close: () => renewals.close(),
  };
}
