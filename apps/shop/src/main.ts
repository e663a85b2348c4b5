/** Start-up: settings, database, keys, bank, HTTP; and the way back on a signal. */
import type { IchidoEvent } from "ichido";
import { shopApp } from "./app.ts";
import { startBankChild } from "./bank/child.ts";
import { bankFile, databaseFile, isLoopback, readConfig, type ShopConfig } from "./config.ts";
import { openDatabase } from "./database/open.ts";
import { databaseName } from "./database/migrate.ts";
import { shopEngine } from "./engine.ts";
import { startEvents } from "./events/flow.ts";
import { orderEvents } from "./events/order-events.ts";
import { exitWithReason, reasonOf, StartError, textOf } from "./errors.ts";
import { bankGateway, requireBank } from "./gateway/bank-gateway.ts";
import { shopMetrics } from "./http/metrics.ts";
import { openKeyStore } from "./key-store.ts";
import { listen } from "./listen.ts";
import { reconcileOpenOutcomes } from "./open-outcomes.ts";
import { whenNpmIsGone } from "./parent-watch.ts";
import { sqlPaymentRepository } from "./payments/sql-payment-repository.ts";
import { sqlRefundRepository } from "./payments/sql-refund-repository.ts";

/** How long what runs may take to finish after a signal. */
const DRAIN_MS = 10_000;
/** How long all of the way back may take: a database that hangs must not keep the process. */
const STOP_MS = 25_000;

function log(line: string): void {
  console.error(`shop: ${line}`);
}

function logWarning(event: IchidoEvent): void {
  if (event.type === "warning") log(`${event.message}${event.error === undefined ? "" : `: ${textOf(event.error)}`}`);
}

/** Starts everything, or nothing; gives back how to stop it. */
async function start(config: ShopConfig): Promise<() => Promise<void>> {
  const undo: (() => unknown)[] = [];
  const stop = async (): Promise<void> => {
    for (const step of undo.toReversed()) await step();
  };
  try {
    const database = await openDatabase(config.databaseUrl, databaseFile(config));
    undo.push(() => database.close());
    const keys = await openKeyStore(config.keyStoreUrl, database);
    undo.push(() => keys.close());

    const flow = await startEvents({
      database,
      databaseName: await databaseName(database),
      brokerUrl: config.brokerUrl,
      log,
    });
    undo.push(() => flow.stop());

    const bank = config.gatewayUrl === undefined ? await startBankChild(bankFile(config), log) : undefined;
    undo.push(() => bank?.stop());
    const gatewayUrl = bank?.url ?? config.gatewayUrl ?? "";
    if (bank === undefined) await requireBank(gatewayUrl);

    const ichido = shopEngine({
      config,
      store: keys.store,
      gatewayUrl,
      closeMs: DRAIN_MS,
      onEvent: logWarning,
    });
    undo.push(() => ichido.close());
    await ichido.start().catch((error: unknown) => {
      throw new StartError(`keys cannot be kept: ${reasonOf(error)}`, { cause: error });
    });

    const ports = {
      payments: sqlPaymentRepository(database),
      refunds: sqlRefundRepository(database),
      gateway: bankGateway({ url: gatewayUrl, timeoutMs: config.gatewayTimeoutMs }),
    };
    undo.push(reconcileOpenOutcomes({ ichido, ports, gatewayTimeoutMs: config.gatewayTimeoutMs, log }));
    const app = shopApp({
      config,
      ichido,
      keyStore: keys.store,
      ports,
      database,
      events: orderEvents(flow.outbox),
      metrics: shopMetrics(ichido, flow, ports.payments),
      gatewayUrl,
      log,
    });
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
    setTimeout(() => {
      log(`did not end within ${STOP_MS} ms; what is open is found out by the next shop`);
      process.exit(1);
    }, STOP_MS).unref();
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
