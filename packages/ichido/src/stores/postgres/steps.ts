/** Steps: each verb one call of a function that writes one row, and the count of those that a new owner inherits. */
import { limits } from "../../core/contract/defaults.ts";
import type { ClaimRequest, ClaimResult, Fenced, Store } from "../../core/contract/store.ts";
import type { TransactionHandle } from "../../core/contract/transaction.ts";
import { bufferOf } from "../../sql/statement.ts";
import type { Row } from "./connection.ts";
import { flagOf, numberOf } from "./row.ts";
import type { Statements } from "./statements.ts";
import { encodeText } from "./text.ts";
import { claimValues, identityValues, toldOf } from "./values.ts";

export interface StepsParts {
  readonly statements: Statements;
  readonly run: (
    verb: "startStep" | "finishStep" | "countSteps",
    values: readonly unknown[],
  ) => Promise<readonly Row[]>;
}

export function createStepVerbs({ run }: StepsParts): Pick<Store, "startStep" | "finishStep"> {
  return {
    async startStep(request) {
      const values = [...claimValues(request), encodeText(request.name), String(request.leaseMs)];
      const told = [toldOf(request.resources), String(limits.resourcesMax)];
      return verdictOf(await run("startStep", [...values, request.mayBeLost === true, ...told]));
    },
    async finishStep(request) {
      const values = [...claimValues(request), encodeText(request.name), String(request.leaseMs)];
      const told = [toldOf(request.resources), String(limits.resourcesMax)];
      return verdictOf(await run("finishStep", [...values, bufferOf(request.result), ...told]));
    },
  };
}

/** The record says only whether there are steps. A claim that inherits some asks how many, which is rare. */
export function countingSteps(
  claim: Store["claim"],
  { run, statements }: StepsParts,
): (request: ClaimRequest, transaction?: TransactionHandle) => Promise<ClaimResult> {
  async function count({ identity }: ClaimRequest, transaction: TransactionHandle | undefined): Promise<number> {
    const values = identityValues(identity);
    if (transaction === undefined) {
      const [row] = await run("countSteps", values);
      return numberOf(row?.[0]);
    }
    const { rows } = await transaction.execute(statements.countSteps.text, values);
    return numberOf(Object.values(rows[0] ?? {})[0]);
  }

  return (request, transaction) =>
    claim(request, transaction).then(async (result) =>
      result.outcome === "granted" && result.stepsStarted > 0
        ? { ...result, stepsStarted: await count(request, transaction) }
        : result,
    );
}

function verdictOf(rows: readonly Row[]): Fenced {
  return flagOf(rows[0]?.[0]) ? "ok" : "stale";
}
