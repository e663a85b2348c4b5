/** Waiting for a change by asking again: MySQL has no notifications. No connection is held between two questions. */
import { sleep } from "../../core/deadline.ts";
import { fraction, systemEnvironment } from "../../core/environment.ts";
import type { Identity } from "../../core/record.ts";
import type { Dialect } from "./dialect.ts";
import type { Run } from "./session.ts";
import { identityValues } from "./values.ts";

const pauseMsFirst = 25;
const pauseMsMax = 500;

export async function watch(run: Run, dialect: Dialect, identity: Identity, timeoutMs: number): Promise<void> {
  const monotonicMs = (): number => systemEnvironment.monotonicMs();
  const statement = dialect.statement("watch");
  const values = statement.bind(identityValues(identity));
  const look = async (): Promise<string> => {
    const [row] = (await run(statement.sql, values, Math.max(1, endMs - monotonicMs()))).rows;
    return row === undefined ? "" : [row["state"], row["fence"], row["updated_us"], row["live"]].map(String).join(" ");
  };
  const endMs = monotonicMs() + timeoutMs;
  const first = await look();
  for (let pauseMs = pauseMsFirst; ; pauseMs = Math.min(pauseMs * 2, pauseMsMax)) {
    const leftMs = endMs - monotonicMs();
    if (leftMs <= 0) return;
    await sleep(systemEnvironment, Math.min(leftMs, pauseMs * (0.5 + fraction(systemEnvironment))));
    if (monotonicMs() >= endMs || (await look()) !== first) return;
  }
}
