/** `landed`: what became of a commit whose answer did not come. Asked again and again, within a bound, while the row is locked. */
import { sleep } from "../../core/contract/deadline.ts";
import { systemEnvironment } from "../../core/contract/environment.ts";
import { isIchidoError } from "../../core/contract/errors.ts";
import type { Landed, LandedRequest } from "../../core/contract/store.ts";
import { landedOf, landedWaitMs } from "../../core/record-machine/owned.ts";
import type { Dialect } from "./dialect.ts";
import { isLocked } from "./failures.ts";
import { holdingOf } from "./row.ts";
import type { Run } from "./session.ts";
import { identityValues } from "./values.ts";

const pauseMs = 20;

export async function landed(run: Run, dialect: Dialect, request: LandedRequest): Promise<Landed> {
  for (const untilMs = systemEnvironment.monotonicMs() + landedWaitMs; ;) {
    try {
      const [row] = (await dialect.send(run, "landed", identityValues(request.identity))).rows;
      return landedOf(row === undefined ? undefined : holdingOf(row), request);
    } catch (error) {
      if (!isIchidoError(error) || !isLocked(error.cause)) throw error;
      if (systemEnvironment.monotonicMs() >= untilMs) return "busy";
    }
    await sleep(systemEnvironment, pauseMs);
  }
}
