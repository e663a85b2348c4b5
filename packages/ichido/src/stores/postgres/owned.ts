/** The verbs of an owner: each finds the record by identity, owner and fence, or finds nothing. */
import { limits } from "../../core/contract/defaults.ts";
import type { Claim, Fenced, RenewRequest, Store } from "../../core/contract/store.ts";
import { bytesArray, numberArray, textArray } from "./arrays.ts";
import type { StoreParts } from "./claim.ts";
import { createCompletions } from "./complete.ts";
import type { Connection } from "./connection.ts";
import { createLanded } from "./landed.ts";
import { flagOf, numberOf } from "./row.ts";
import type { Run } from "./run.ts";
import type { StatementName } from "./statements.ts";
import { encodeOptional, encodeText } from "./text.ts";
import { claimValues, responseValues, toldOf } from "./values.ts";

interface OwnedParts extends StoreParts {
  readonly run: Run;
  /** Connections that business statements cannot occupy. */
  readonly renewals: Pick<Connection, "run">;
  readonly wake: (identity: Claim["identity"]) => void;
}

type OwnedVerb = "renew" | "complete" | "landed" | "release" | "suspend";

export function createOwnedVerbs(parts: OwnedParts): Pick<Store, OwnedVerb> {
  const { run, renewals, channel } = parts;
  const complete = createCompletions(parts);

  async function waking<Answer>({ identity }: Claim, answer: Promise<Answer>): Promise<Answer> {
    const value = await answer;
    parts.wake(identity);
    return value;
  }

  async function fenced(verb: StatementName, request: Claim, ...more: readonly unknown[]): Promise<Fenced> {
    const rows = await run(verb, "always", [...claimValues(request), ...more]);
    return rows.length === 1 ? "ok" : "stale";
  }

  return {
    async renew(requests) {
      if (requests.length === 0) return [];
      const rows = await run("renew", "always", renewValues(requests), renewals);
      const told = new Map(
        rows.map(([place, renewed]) => [numberOf(place), flagOf(renewed) ? "ok" : "locked"] as const),
      );
      return requests.map((_, index) => told.get(index + 1) ?? "stale");
    },
    complete(request, transaction) {
      const completing = complete(request, transaction);
      // On the caller's transaction nothing has changed yet for others.
      return transaction === undefined ? waking(request, completing) : completing;
    },
    landed: createLanded(parts),
    release: (request) => waking(request, fenced("release", request, channel)),
    suspend(request) {
      const values = [...responseValues(request.interim), encodeOptional(request.holdReason), channel];
      const told = [toldOf(request.resources), String(limits.resourcesMax)];
      return waking(request, fenced("suspend", request, ...values, ...told));
    },
  };
}

function renewValues(requests: readonly RenewRequest[]): unknown[] {
  return [
    textArray(requests.map(({ identity }) => encodeText(identity.key))),
    bytesArray(requests.map(({ identity }) => identity.scopeHash)),
    textArray(requests.map(({ owner }) => owner)),
    numberArray(requests.map(({ fence }) => fence)),
    numberArray(requests.map(({ leaseMs }) => leaseMs)),
  ];
}
