/** What befalls calls of the bank: it charges, or does not, and the caller is not told which. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ProviderMode } from "../../packages/ichido/src/testing/fake-provider.ts";
import type { Fault } from "./fault.ts";

const modes: readonly ProviderMode[] = ["charge-and-drop", "timeout-but-charge", "charge-and-error", "drop", "slow"];
const askedMs = 2_000;

export const bankFault: Fault = {
  name: "bank",
  everyMs: 500,
  async strike({ banks, random }) {
    const bank = random.pick(banks.both);
    const before = bank.requests();
    bank.next(random.pick(modes));
    // The mode waits for the next call, whenever that comes.
    for (let waitedMs = 0; bank.requests() === before && waitedMs < askedMs; waitedMs += 20) await sleep(20);
    return bank.requests() > before;
  },
};
