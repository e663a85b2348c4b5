/**
 * The way of renewals. Where the business's own transactions hold every connection of the pool, a heartbeat that waited
 * for one would lose the leases of healthy owners, just when the service is slow. So a renewal that would have to wait
 * goes over a connection of the store's own.
 */
import { DeadlineExceeded, withDeadline } from "../../core/contract/deadline.ts";
import { systemEnvironment } from "../../core/contract/environment.ts";
import { createOwnConnection } from "../../drivers/own-connection.ts";
import { patienceMs, poolStarved, starvedMs } from "../../drivers/pool-starved.ts";
import { isPool, promiseSide, type DriverClient, type MysqlPool, type MysqlPoolConnection } from "./client.ts";
import { isBroken, isRolledBack } from "./failures.ts";
import { ownClientMaker, type OwnClient } from "./own-client.ts";
import { countdown, giveBack, sendBy, sendOn, withLent, type Run, type SendOnce } from "./session.ts";

export interface Renewals {
  readonly once: SendOnce;
  close(): Promise<void>;
}

/** `look` fails where a connection is not fit to write on. */
export function createRenewals(given: DriverClient, look: (run: Run) => Promise<unknown>): Renewals {
  const client = promiseSide(given);
  const usual = sendBy(client);
  if (!isPool(client)) return { once: usual, close: async () => undefined };
  const lend = lendAtOnce(client);
  const maker = ownClientMaker(given);
  const warn = poolStarved("mysql");
  const own = createOwnConnection<OwnClient>({
    environment: systemEnvironment,
    async open(onLost) {
      const opened = await maker()?.(onLost);
      if (opened === undefined) throw new Error("this pool does not tell how it makes its connections");
      try {
        // What the program does to each connection of its pool was not done to this one.
        await look((sql, values, limitMs = lookMs) => sendOn(opened, sql, values, limitMs));
      } catch (error) {
        opened.destroy();
        throw error;
      }
      return opened;
    },
    end: async (opened, how) => (how === "end" ? opened.end() : opened.destroy()),
  });

  const waiting: SendOnce = (sql, values, limitMs) => {
    const told = systemEnvironment.after(starvedMs, warn);
    return usual(sql, values, limitMs).finally(() => told.cancel());
  };

  return {
    async once(sql, values, limitMs) {
      const left = countdown(limitMs);
      if (maker() === undefined) return waiting(sql, values, limitMs);
      const lent = await lend(left());
      if (lent !== undefined) return withLent(lent, (connection) => sendOn(connection, sql, values, left()));
      let used: OwnClient;
      try {
        used = await own.get(left());
      } catch {
        warn();
        return waiting(sql, values, left());
      }
      try {
        return await sendOn(used, sql, values, left());
      } catch (error) {
        if (isBroken(error)) own.drop(used);
        if (isBroken(error) || isRolledBack(error)) throw error;
        warn();
        return waiting(sql, values, left());
      }
    },
    close: () => own.close(),
  };
}

const lookMs = 5_000;

/** A request to the pool cannot be taken back: while one of them waits, no further one is made. */
function lendAtOnce(pool: MysqlPool): (limitMs: number) => Promise<MysqlPoolConnection | undefined> {
  let starving = false;
  const fed = (): void => {
    starving = false;
  };
  return async (limitMs) => {
    if (starving) return undefined;
    const asked = pool.getConnection();
    try {
      return await withDeadline(systemEnvironment, Math.min(limitMs, patienceMs), () => asked, giveBack);
    } catch (error) {
      if (error instanceof DeadlineExceeded) {
        starving = true;
        asked.then(fed, fed);
      }
      return undefined;
    }
  };
}
