/** Waiting for a change by asking again: MySQL has no notifications. No connection is held between two questions. */
import { around } from "../../core/contract/jitter.ts";
import { DeadlineExceeded, sleep, withDeadline } from "../../core/contract/deadline.ts";
import { systemEnvironment } from "../../core/contract/environment.ts";
import type { Identity } from "../../core/contract/record.ts";
import type { Dialect } from "./dialect.ts";
import type { Run } from "./session.ts";
import { identityValues } from "./values.ts";

const pauseMsFirst = 25;
const pauseMsMax = 500;

export async function watch(run: Run, dialect: Dialect, identity: Identity, timeoutMs: number): Promise<void> {
  const environment = systemEnvironment;
  const endMs = environment.monotonicMs() + timeoutMs;
  const look = async (): Promise<string> => {
    const [row] = (await dialect.send(run, "watch", identityValues(identity))).rows;
    return row === undefined ? "" : [row["state"], row["fence"], row["updated_us"], row["live"]].map(String).join(" ");
  };
  let first: string | undefined;
  for (let pauseMs = pauseMsFirst; ; pauseMs = Math.min(pauseMs * 2, pauseMsMax)) {
    const leftMs = endMs - environment.monotonicMs();
    if (leftMs <= 0) return;
    let seen: string;
    try {
      seen = await withDeadline(environment, leftMs, look);
    } catch (error) {
      // The time is up, and the question goes on by itself: its connection is sound.
      if (error instanceof DeadlineExceeded) return;
      throw error;
    }
    first ??= seen;
    if (seen !== first) return;
    const jitteredMs = around(environment, pauseMs);
    await sleep(environment, Math.max(0, Math.min(endMs - environment.monotonicMs(), jitteredMs)));
  }
}
