/** `/accounts`: natural keys and compare and set in place of an Idempotency-Key. */
import { Router, type Request, type Response } from "express";
import { checkBalances, checkTransfer, type BalanceInput } from "../accounts/account-input.ts";
import {
  ensureAccount,
  findAccount,
  postTransfer,
  setBalance,
  type AccountName,
  type Transfer,
} from "../accounts/account.ts";
import type { Database } from "../database/database.ts";
import { caller } from "./authentication.ts";
import { inputOf, jsonBody } from "./json-body.ts";
import { idOf } from "./path-id.ts";
import { allow, ShopError } from "./problems.ts";

export function accountRoutes({ direct, transactions }: Database): Router {
  const router = Router();

  router.get("/:accountId", async (request, response) => {
    response.set("Cache-Control", "private, no-cache").json(await findAccount(direct, nameOf(request)));
  });
  router.all("/:accountId", allow("GET", "HEAD"));

  router.post("/:accountId/transactions", jsonBody(checkTransfer), async (request: Request, response: Response) => {
    const name = nameOf(request);
    await ensureAccount(direct, name);
    const result = await transactions.run(async (_tx, sql) => {
      const posted = await postTransfer(sql, name, inputOf<Transfer>(request));
      // Thrown inside, so that the transaction's id is rolled back with it and stays free.
      if (!("transfer" in posted)) throw refusals[posted.outcome]();
      return posted;
    });
    response.status(result.outcome === "posted" ? 201 : 200).json({ accountId: name.accountId, ...result.transfer });
  });
  router.all("/:accountId/transactions", allow("POST"));

  router.put("/:accountId/balance", jsonBody(checkBalances), async (request: Request, response: Response) => {
    const name = nameOf(request);
    await ensureAccount(direct, name);
    const result = await transactions.run((_tx, sql) => setBalance(sql, name, inputOf<BalanceInput>(request)));
    const { account } = result;
    if (result.outcome === "changed") {
      throw new ShopError("balance-changed", `the balance is ${account.balance}`, { balance: account.balance });
    }
    response.json(account);
  });
  router.all("/:accountId/balance", allow("PUT"));

  return router;
}

const refusals = {
  conflict: () => new ShopError("transaction-exists", "this transactionId was used with other content"),
  "insufficient-funds": () => new ShopError("insufficient-funds", "the balance is less than the amount"),
  "balance-limit": () => new ShopError("balance-limit", "the balance would exceed 2^53 - 1"),
} as const;

function nameOf(request: Request): AccountName {
  return { tenant: caller(request).tenant, accountId: idOf(request, "accountId") };
}
