/** Start-up: settings, database, bank, keys, HTTP; and the way back on a signal. */
import type { Request } from "express";
import { createIchido } from "ichido";
import { sqliteStore } from "ichido/sqlite";
import { shopApp } from "./app.ts";
import { startBankChild } from "./bank/child.ts";
import { bankFile, databaseFile, isLoopback, readConfig, type ShopConfig } from "./config.ts";
import { openDatabase } from "./database.ts";
import { bankGateway } from "./gateway/bank-gateway.ts";
import { caller } from "./http/authentication.ts";
import { listen } from "./listen.ts";
import { paymentOperation } from "./http/payment-routes.ts";
import { refundOperation } from "./http/refund-routes.ts";
import { startReconciler } from "./reconciler.ts";
import { whenNpmIsGone } from "./parent-watch.ts";
import { migrations } from "./migrations.ts";
import { findPaymentAnswer, findRefundAnswer } from "./open-outcomes.ts";
import { sqlitePaymentRepository } from "./payments/sqlite-payment-repository.ts";
import { sqliteRefundRepository } from "./payments/sqlite-refund-repository.ts";
import { sqliteSql } from "./sql.ts";
import { exitWithReason, textOf } from "./errors.ts";

/** How long what runs may take to finish after a signal. */
const DRAIN_MS = 10_000;

function log(line: string): void {
  console.error(`shop: ${line}`);
}

/** Starts everything, or nothing; gives back how to stop it. */
async function start(config: ShopConfig): Promise<() => Promise<void>> {
  const undo: (() => unknown)[] = [];
  const stop = async (): Promise<void> => {
    for (const step of undo.toReversed()) await step();
  };
  try {
    const database = await openDatabase(databaseFile(config), migrations);
    undo.push(() => database.close());
    const writing = await openDatabase(databaseFile(config), migrations);
    undo.push(() => writing.close());
    const store = sqliteStore(database);
    await store.migrate();
    undo.push(() => store.close());

    const bank = config.gatewayUrl === undefined ? await startBankChild(bankFile(config), log) : undefined;
    undo.push(() => bank?.stop());
    const gatewayUrl = config.gatewayUrl ?? bank?.url ?? "";

    const ichido = createIchido<Request>({
      store,
      scope: (request) => ({ tenant: caller(request).tenant, principal: caller(request).user }),
      // Each keyed route says how its outcome is found out; one that forgot would stop rather than take effect twice.
      onUnknown: "hold",
      leaseMs: config.leaseMs,
      retentionMs: config.retentionMs,
      sweepMs: config.sweepMs,
      closeMs: DRAIN_MS,
      onEvent: (event) => {
        if (event.type === "warning")
          log(`${event.message}${event.error === undefined ? "" : `: ${textOf(event.error)}`}`);
      },
    });
    undo.push(() => ichido.close());

    const ports = {
      payments: sqlitePaymentRepository(database),
      refunds: sqliteRefundRepository(database),
      gateway: bankGateway({ url: gatewayUrl, timeoutMs: config.gatewayTimeoutMs }),
    };
    const operations = {
      [paymentOperation.operation]: findPaymentAnswer(ports, config.gatewayTimeoutMs),
      [refundOperation.operation]: findRefundAnswer(ports),
    };
    undo.push(startReconciler({ ichido, operations, log }));
    const app = shopApp({ config, ichido, ports, database: sqliteSql(database, writing), gatewayUrl, log });
    const listening = await listen(app, config.host, config.port);
    // Both at once: a handler whose client has gone is known to the keys only, an answer on its way to the server only.
    undo.push(() => Promise.all([listening.drain(DRAIN_MS), ichido.close()]));

    if (config.usesDefaultTokens && !isLoopback(config.host)) {
      log(
        `warning: ${config.host} is not a loopback address and the tokens are the published defaults; set SHOP_TOKENS`,
      );
    }
    console.log(`shop ready ${listening.url}`);
    return stop;
  } catch (error) {
    await stop();
    throw error;
  }
}

try {
  const stop = await start(readConfig(process.env));
  let stopping: Promise<void> | undefined;
  // A second signal changes nothing: npm passes on the Ctrl-C that the terminal has sent to the shop already.
  const end = (): void => {
    stopping ??= stop().then(
      () => process.exit(0),
      (error: unknown) => exitWithReason("shop", error),
    );
  };
  process.on("SIGINT", end).on("SIGTERM", end);
  whenNpmIsGone(end);
} catch (error) {
  exitWithReason("shop", error);
}
