/** Accounts: a balance, changed by transactions with an id of their own, or compared and set. Starts at 0 on first use. */
import { createOnce } from "ichido/guards";
import { change, select, type Sql } from "../database/database.ts";

export interface Account {
  readonly accountId: string;
  readonly balance: number;
  /** Grows with every change of the balance. */
  readonly version: number;
}

export interface AccountName {
  readonly tenant: string;
  readonly accountId: string;
}

export interface Transfer {
  readonly transactionId: string;
  readonly type: "deposit" | "withdrawal";
  readonly amount: number;
}

export interface PostedTransfer extends Transfer {
  /** Of the account, right after it. */
  readonly balance: number;
  readonly createdAt: string;
}

export type PostResult =
  | { readonly outcome: "posted" | "same"; readonly transfer: PostedTransfer }
  | { readonly outcome: "conflict" | "insufficient-funds" | "balance-limit" };

export type SetBalanceResult =
  | { readonly outcome: "set" | "same"; readonly account: Account }
  | { readonly outcome: "changed"; readonly account: Account };

export const accountTables: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS accounts (
    tenant {id} NOT NULL, account_id {id} NOT NULL, balance {integer} NOT NULL CHECK (balance >= 0),
    version {integer} NOT NULL, PRIMARY KEY (tenant, account_id)
  ){table}`,
  `CREATE TABLE IF NOT EXISTS account_transactions (
    tenant {id} NOT NULL, account_id {id} NOT NULL, transaction_id {id} NOT NULL,
    type {name} NOT NULL CHECK (type IN ('deposit', 'withdrawal')), amount {integer} NOT NULL CHECK (amount > 0),
    balance {integer} NOT NULL, created_at {name} NOT NULL, PRIMARY KEY (tenant, account_id, transaction_id)
  ){table}`,
];

export async function findAccount(on: Sql, { tenant, accountId }: AccountName): Promise<Account> {
  const [row] = await select<{ balance: number; version: number }>(
    on,
  )`SELECT balance, version FROM accounts WHERE tenant = ${tenant} AND account_id = ${accountId}`;
  return { accountId, balance: row?.balance ?? 0, version: row?.version ?? 0 };
}

/**
 * Before a transaction, not inside one: an insert that finds its row there keeps a shared lock on it, and two transactions
 * that then both wanted to change the row would wait for each other.
 */
export async function ensureAccount(on: Sql, { tenant, accountId }: AccountName): Promise<void> {
  const [row] = await select(on)`SELECT 1 FROM accounts WHERE tenant = ${tenant} AND account_id = ${accountId}`;
  if (row !== undefined) return;
  const key = { tenant, account_id: accountId };
  await createOnce(on, { table: "accounts", key, content: {}, other: { balance: 0, version: 0 } });
}

/**
 * The natural key decides first, whatever the balance is by now: a withdrawal sent again after the money has gone is still
 * the one that was made. The caller has ensured the account, and rolls back on a refusal, so that a refused id stays free.
 */
export async function postTransfer(on: Sql, name: AccountName, transfer: Transfer): Promise<PostResult> {
  const { tenant, accountId } = name;
  const { transactionId, type, amount } = transfer;
  const createdAt = new Date().toISOString();
  const created = await createOnce(on, {
    table: "account_transactions",
    key: { tenant, account_id: accountId, transaction_id: transactionId },
    content: { type, amount },
    other: { balance: 0, created_at: createdAt },
  });
  if (created.outcome === "conflict") return { outcome: "conflict" };
  if (created.outcome === "same") return { outcome: "same", transfer: await findTransfer(on, name, transfer) };

  const [least, most, difference] =
    type === "deposit" ? [0, Number.MAX_SAFE_INTEGER - amount, amount] : [amount, Number.MAX_SAFE_INTEGER, -amount];
  const changed = await change(
    on,
  )`UPDATE accounts SET balance = balance + ${difference}, version = version + 1 WHERE tenant = ${tenant} AND account_id = ${accountId} AND balance >= ${least} AND balance <= ${most}`;
  if (changed === 0) return { outcome: type === "deposit" ? "balance-limit" : "insufficient-funds" };
  const { balance } = await findAccount(on, name);
  await change(
    on,
  )`UPDATE account_transactions SET balance = ${balance} WHERE tenant = ${tenant} AND account_id = ${accountId} AND transaction_id = ${transactionId}`;
  return { outcome: "posted", transfer: { ...transfer, balance, createdAt } };
}

/** Compare and set, on an account that was ensured. Blind to A-B-A: a balance that went away and came back looks untouched; versions would tell. */
export async function setBalance(
  on: Sql,
  name: AccountName,
  { newBalance, previousBalance }: { readonly newBalance: number; readonly previousBalance: number },
): Promise<SetBalanceResult> {
  const { tenant, accountId } = name;
  const changed =
    newBalance === previousBalance
      ? 0
      : await change(
          on,
        )`UPDATE accounts SET balance = ${newBalance}, version = version + 1 WHERE tenant = ${tenant} AND account_id = ${accountId} AND balance = ${previousBalance}`;
  const account = await findAccount(on, name);
  if (changed > 0) return { outcome: "set", account };
  return { outcome: account.balance === newBalance ? "same" : "changed", account };
}

async function findTransfer(on: Sql, name: AccountName, transfer: Transfer): Promise<PostedTransfer> {
  const [row] = await select<{ balance: number; created_at: string }>(
    on,
  )`SELECT balance, created_at FROM account_transactions WHERE tenant = ${name.tenant} AND account_id = ${name.accountId} AND transaction_id = ${transfer.transactionId}`;
  return { ...transfer, balance: row?.balance ?? 0, createdAt: row?.created_at ?? "" };
}
