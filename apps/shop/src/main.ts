/** Start-up: settings, database, keys, bank, HTTP; and the way back on a signal. */
import * as openTelemetry from "@opentelemetry/api";
import type { DrainReport } from "ichido";
import { fromOpenTelemetry } from "ichido/traces";
import { shopApp } from "./app.ts";
import { startBankChild } from "./bank/child.ts";
import { isLoopback } from "./callers.ts";
import { bankFile, databaseFile, readConfig, type ShopConfig } from "./config.ts";
import { consoleLink } from "./console-link.ts";
import { openDatabase } from "./database/open.ts";
import { databaseName } from "./database/migrate.ts";
import { shopEngine } from "./engine.ts";
import { startEvents } from "./events/flow.ts";
import { orderEvents } from "./events/order-events.ts";
import { exitWithReason, reasonOf, StartError } from "./errors.ts";
import { bankGateway, requireBank } from "./gateway/bank-gateway.ts";
import { shopConsole } from "./http/console.ts";
import { shopMetrics } from "./http/metrics.ts";
import { openKeyStore } from "./key-store.ts";
import { listen } from "./listen.ts";
import { openLog, type ShopLog } from "./log.ts";
import { reconcileOpenOutcomes } from "./open-outcomes.ts";
import { whenNpmIsGone } from "./parent-watch.ts";
import { onFirstUse } from "./playground/on-first-use.ts";
import { sqlPaymentRepository } from "./payments/sql-payment-repository.ts";
import { sqlRefundRepository } from "./payments/sql-refund-repository.ts";

/** Spans go to whatever an OpenTelemetry SDK, loaded before the shop by `--import`, makes of them; without one, nowhere. */
const tracing = fromOpenTelemetry(openTelemetry);

/** Beyond the deadline of the way back: a database that hangs must not keep the process. */
const CLOSE_MS = 5_000;

/** What a signal left behind, for the person who reads the log. */
function leftOf({ handlers, transactions, parts }: DrainReport): string {
  const late = parts.filter(({ state }) => state !== "ended");
  return [
    ...handlers.map(({ operation, keyHash, runningMs }) => `${operation} ${keyHash} ran for ${runningMs} ms`),
    ...(transactions === 0 ? [] : [`${transactions} open transactions`]),
    ...late.map(({ name, state, inFlight }) => `${name} ${state} with ${inFlight} in flight`),
  ].join("; ");
}

interface Started {
  stop(): Promise<void>;
}

/** Starts everything, or nothing; gives back how to stop it. */
async function start(config: ShopConfig, { line: log, logger }: ShopLog): Promise<Started> {
  const undo: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
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
      logger,
      tracing,
    });
    undo.push(() => flow.close());

    const bank = config.gatewayUrl === undefined ? await startBankChild(bankFile(config), log) : undefined;
    undo.push(() => bank?.stop());
    const gatewayUrl = bank?.url ?? config.gatewayUrl ?? "";
    if (bank === undefined) await requireBank(gatewayUrl);

    const linked = consoleLink(config);
    const ichido = shopEngine({ config, store: keys.store, gatewayUrl, logger, tracing, ...linked });
    undo.push(() => ichido.close());
    await ichido.start().catch((error: unknown) => {
      throw new StartError(`keys cannot be kept: ${reasonOf(error)}`, { cause: error });
    });

    const ports = {
      payments: sqlPaymentRepository(database),
      refunds: sqlRefundRepository(database),
      gateway: bankGateway({ url: gatewayUrl, timeoutMs: config.gatewayTimeoutMs }),
    };
    const reconciler = reconcileOpenOutcomes({ ichido, ports, gatewayTimeoutMs: config.gatewayTimeoutMs });
    undo.push(() => reconciler.stop({ drainMs: 0 }));
    const onCall = shopConsole(ichido, config, flow);
    undo.push(() => onCall.close());
    const playground = onFirstUse(config, log);
    undo.push(() => playground.stop());
    const app = shopApp({
      config,
      ichido,
      keyStore: keys.store,
      ports,
      database,
      events: orderEvents(flow.outbox),
      metrics: shopMetrics(ichido, flow, ports.payments),
      console: onCall.handler,
      gatewayUrl,
      playground,
      log,
    });
    const listening = await listen(app, config.host, config.port);
    if (config.usesDefaultTokens && !isLoopback(config.host)) {
      log(
        `warning: ${config.host} is not a loopback address and the tokens are the published defaults; set SHOP_TOKENS`,
      );
    }
    console.log(`shop ready ${listening.url}`);
    return {
      async stop() {
        const { drainMs: deadlineMs, announceMs } = config;
        // A stream of its Live screen would keep the server from closing.
        onCall.close();
        const report = await ichido.drain({
          deadlineMs,
          announceMs: Math.min(announceMs, deadlineMs),
          parts: { http: listening.part, consumer: flow.consumer, reconciler },
          last: { relay: flow.relay },
        });
        if (!report.clean) log(`not finished within ${deadlineMs} ms: ${leftOf(report)}`);
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

try {
  const config = readConfig(process.env);
  const log = openLog(config.log);
  const shop = await start(config, log);
  let stopping: Promise<void> | undefined;
  // A second signal changes nothing: npm passes on the Ctrl-C that the terminal has sent to the shop already.
  const end = (): void => {
    const stopMs = config.drainMs + CLOSE_MS;
    setTimeout(() => {
      log.line(`did not end within ${stopMs} ms; what is open is found out by the next shop`);
      process.exit(1);
    }, stopMs).unref();
    stopping ??= shop.stop().then(
      () => process.exit(0),
      (error: unknown) => exitWithReason("shop", error),
    );
  };
  process.on("SIGINT", end).on("SIGTERM", end);
  whenNpmIsGone(end);
} catch (error) {
  exitWithReason("shop", error);
}
