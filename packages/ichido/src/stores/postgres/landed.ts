/** `landed`: what became of a commit whose answer did not come. */
import type { OwnerToken, WrittenState } from "../../core/contract/record.ts";
import type { Landed, LandedRequest } from "../../core/contract/store.ts";
import { landedOf, landedWaitMs, type Holding } from "../../core/record-machine/owned.ts";
import type { StoreParts } from "./claim.ts";
import type { Row } from "./connection.ts";
import { failureKind, toIchidoError } from "./failures.ts";
import { numberOf, textOf } from "./row.ts";
import { identityValues } from "./values.ts";

export function createLanded(parts: StoreParts): (request: LandedRequest) => Promise<Landed> {
  const { connection, statements, options, withRetries } = parts;

  return async (request) => {
    const values = [...identityValues(request.identity), String(Math.min(options.lockTimeoutMs, landedWaitMs))];
    const ask = (verb: "landed" | "landedWithin"): Promise<readonly Row[]> =>
      withRetries("always", (leftMs) => connection.run(statements[verb], values, leftMs));
    try {
      if (request.claimedWithin === true) await ask("landedWithin");
      const [row] = await ask("landed");
      return landedOf(row === undefined ? undefined : recordOf(row), request);
    } catch (error) {
      if (failureKind(error) === "locked") return "busy";
      throw toIchidoError(error, "landed");
    }
  };
}

function recordOf([state, owner, fence]: Row): Holding {
  return { state: textOf(state) as WrittenState, owner: textOf(owner) as OwnerToken, fence: numberOf(fence) };
}
