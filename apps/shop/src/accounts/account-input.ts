/** What a caller must say to move money, or to set a balance. */
import type { Checked, Fault } from "../http/json-body.ts";
import { AMOUNT, isAmount, isText, membersOf } from "../input.ts";
import type { Transfer } from "./account.ts";

const ID_CHARACTERS_MAX = 64;

export interface BalanceInput {
  readonly newBalance: number;
  readonly previousBalance: number;
}

export function checkTransfer(body: unknown): Checked<Transfer> {
  const { transactionId, type, amount } = membersOf(body);
  const faults: Fault[] = [];
  if (!isText(transactionId, ID_CHARACTERS_MAX)) {
    faults.push({ member: "transactionId", expected: `a string of 1 to ${ID_CHARACTERS_MAX} characters` });
  }
  if (type !== "deposit" && type !== "withdrawal") faults.push({ member: "type", expected: "deposit or withdrawal" });
  if (!isAmount(amount)) faults.push({ member: "amount", expected: AMOUNT });
  return faults.length > 0 ? { faults } : { input: { transactionId, type, amount } as Transfer };
}

export function checkBalances(body: unknown): Checked<BalanceInput> {
  const { newBalance, previousBalance } = membersOf(body);
  const faults = Object.entries({ newBalance, previousBalance })
    .filter(([, value]) => value !== 0 && !isAmount(value))
    .map(([member]) => ({ member, expected: "a non-negative integer in minor units, at most 2^53 - 1" }));
  return faults.length > 0 ? { faults } : { input: { newBalance, previousBalance } as BalanceInput };
}
