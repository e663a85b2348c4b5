/** Calls of the gateway that are recorded under the caller's key, so that a later attempt knows what was said. */

/** Runs a call, or gives what it returned on an earlier attempt. What it throws is not recorded. */
export type Recorded = <Value>(call: () => Promise<Value>) => Promise<Value>;

type Silence = "unknown" | "unreachable";

/** Only what the gateway said for sure may be recorded; silence must leave the call open, and so is thrown past it. */
class NoAnswer extends Error {
  override readonly name = "NoAnswer";
  readonly outcome: Silence;

  constructor(outcome: Silence) {
    super(`the gateway gave no answer (${outcome})`);
    this.outcome = outcome;
  }
}

export async function answered<Said extends { readonly outcome: string }>(
  recorded: Recorded,
  call: () => Promise<Said>,
): Promise<Said | { readonly outcome: Silence }> {
  try {
    return await recorded(async () => {
      const said = await call();
      if (said.outcome === "unknown" || said.outcome === "unreachable") throw new NoAnswer(said.outcome);
      return said;
    });
  } catch (error) {
    if (error instanceof NoAnswer) return { outcome: error.outcome };
    throw error;
  }
}
