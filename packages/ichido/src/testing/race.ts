/** Calls at the same moment, as a double click, two tabs or several servers make them. */
import { integerOption } from "../core/contract/option-checks.ts";

export interface RaceResult<Value> {
  /** In the order of the calls; those that failed are left out. */
  readonly answers: readonly Value[];
  readonly errors: readonly unknown[];
}

const callsMax = 100_000;

/** Makes all calls before any of them can go on, and waits for all. Never rejects for a call that failed. */
export async function race<Value>(
  calls: number,
  call: (index: number) => Value | Promise<Value>,
): Promise<RaceResult<Value>> {
  integerOption("calls", calls, 1, callsMax);
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const racing = Array.from({ length: calls }, async (_, index) => {
    await gate;
    return call(index);
  });
  open();
  const settled = await Promise.allSettled(racing);
  return {
    answers: settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : [])),
    errors: settled.flatMap((each) => (each.status === "rejected" ? [each.reason as unknown] : [])),
  };
}
