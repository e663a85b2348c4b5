/** The ledgers against the history, when the faults are over and everybody has asked again. */
import type { Charge } from "../packages/ichido/src/testing/fake-provider.ts";
import type { History, Operation } from "./history.ts";
import { intentOf, isRow, operationOf } from "./policies.ts";
import type { Told } from "./told.ts";

export interface Ledgers {
  readonly told: Told;
  readonly charges: readonly Charge[];
}

/** The names of the effects of each operation. */
function effectsOf({ told, charges }: Ledgers): ReadonlyMap<string, readonly string[]> {
  const effects = new Map<string, string[]>();
  const add = (intent: string, effect: string): void => {
    const known = effects.get(intent);
    if (known === undefined) effects.set(intent, [effect]);
    else known.push(effect);
  };
  for (const { intent, effect } of told.rows) add(intent, effect);
  for (const { amount, id } of charges) add(intentOf(amount), id);
  return effects;
}

function judgeEffects(history: History, operation: Operation, effects: readonly string[]): void {
  const { policy, order, answer, isAcknowledged } = operation;
  const what = `${policy} ${order.intent}`;
  const doubled = `${what} took effect ${effects.length} times`;
  if (effects.length > 1 && isRow(policy)) history.violate("effect-doubled", doubled);
  // What the bank has charged it does not forget with the store.
  else if (effects.length > 1) history.forget("effect-doubled", doubled);
  if (effects.length === 0 && isAcknowledged)
    history.violate("effect-lost", `${what} was answered, and nothing happened`);
  // A row and its answer are of one commit.
  if (answer !== undefined && effects.length > 0 && !effects.includes(answer.receipt.effect)) {
    history.violate("record-and-effect", `${what}: ${answer.receipt.effect} was told, ${effects.join()} took effect`);
  }
  if (answer === undefined && isRow(policy) && isAcknowledged) {
    history.violate("record-and-effect", `${what}: a row without a stored answer`);
  }
}

export function judge(history: History, ledgers: Ledgers, { hasRecords }: { readonly hasRecords: boolean }): void {
  const effects = effectsOf(ledgers);
  const nameOf = (operation: string, caller: string, key: string): string => `${operation} ${caller} ${key}`;
  const records = new Map(
    ledgers.told.records.map((each) => [nameOf(each.operation, each.caller, each.key), each.state]),
  );
  for (const operation of history.operations) {
    const { policy, caller, key, order } = operation;
    judgeEffects(history, operation, effects.get(order.intent) ?? []);
    if (!hasRecords) continue;
    const state = records.get(nameOf(operationOf(policy), caller, key)) ?? "absent";
    if (state !== "completed") history.violate("stuck", `${policy} ${order.intent}: its record is ${state} in the end`);
  }
  const known = new Set(history.operations.map(({ order }) => order.intent));
  for (const intent of effects.keys()) {
    if (!known.has(intent)) history.violate("effect-unasked", `${intent} took effect, and nobody had asked for it`);
  }
}
