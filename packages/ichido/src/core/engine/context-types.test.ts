/** What the compiler tells a handler of its transaction. The compiler reads this; nothing of it needs to run. */
import { expectTypeOf, test } from "vitest";
import { idempotency } from "../../adapters/express.ts";
import { idempotent as idempotentFetch } from "../../adapters/fetch.ts";
import { idempotent as idempotentNode } from "../../adapters/node.ts";
import { createIchido } from "./create-ichido.ts";
import type { Context } from "../contract/context.ts";
import type { Store } from "../contract/store.ts";
import type { TransactionRunner } from "../contract/transaction.ts";

interface Client {
  query(sql: string): Promise<number>;
}

interface Other {
  execute(sql: string): Promise<number>;
}

function never(store: Store, transactions: TransactionRunner<Client>, others: TransactionRunner<Other>): void {
  const ichido = createIchido({ store, transactions, onUnknown: "hold", scope: () => ({ principal: "p" }) });
  const asked = { operation: "pay", scope: { principal: "p" }, key: "k" };
  const answer = { status: 201 };

  void ichido.run(asked, (ctx) =>
    ctx.transaction(async (tx) => {
      expectTypeOf(tx).toEqualTypeOf<Client>();
      return answer;
    }),
  );
  // @ts-expect-error The engine's runner opens no such transaction.
  void ichido.run(asked, (ctx) => ctx.transaction((tx: Other) => tx.execute("x").then(() => answer)));
  void ichido.run(asked, (ctx) =>
    ctx.transaction(others, async (tx) => {
      expectTypeOf(tx).toEqualTypeOf<Other>();
      return answer;
    }),
  );
  idempotentFetch(ichido, { operation: "pay" }, async (_request, ctx) => {
    expectTypeOf(ctx).toEqualTypeOf<Context<Client> | undefined>();
    return new Response();
  });
  idempotentNode(ichido, { operation: "pay" }, (_request, _response, ctx) => {
    expectTypeOf(ctx).toEqualTypeOf<Context<Client> | undefined>();
  });
  // Where the framework says what a request has, the engine passes as any other.
  idempotency(ichido, { operation: "pay" });
  // Without a word about it, a handler says itself what it expects, as of anything unknown.
  void ({} as Context).transaction(async (tx: Client) => ({ status: await tx.query("x") }));
}

test("the transaction of a handler is the one that the engine's runner opens", () => {
  expectTypeOf(never).toBeFunction();
});
