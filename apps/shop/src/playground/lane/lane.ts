/** A lane as a process: settings from the environment, orders from its parent, everything else as in any service. */
import { AsyncLocalStorage } from "node:async_hooks";
import { join } from "node:path";
import express, { type ErrorRequestHandler, type Express, type Request } from "express";
import type { IchidoEvent, IchidoOptions, Store } from "ichido";
import { captureBody } from "ichido/express";
import type { Database } from "../../database/database.ts";
import { openDatabase } from "../../database/open.ts";
import { exitWithReason } from "../../errors.ts";
import { bankGateway } from "../../gateway/bank-gateway.ts";
import { bankProbe } from "../../gateway/bank-probe.ts";
import type { PaymentGateway } from "../../gateway/payment-gateway.ts";
import { sendProblem, ShopError } from "../../http/problems.ts";
import { listen } from "../../listen.ts";
import { isOneOfMany, type EventNote, type LaneName, type Raw } from "../contract.ts";
import { RUN_HEADER } from "../fault-proxy.ts";
import type { FromLane, ToLane } from "./messages.ts";
import { openPayments, type Payments } from "./payments.ts";
import { openKeys } from "./keys.ts";
import { keptEvents } from "./kept-events.ts";
import { naiveEvents } from "./naive-events.ts";
import { openOrders, orderRoutes } from "./pay-order.ts";
import { paymentRow, recordRow } from "./rows.ts";
import { readLaneSettings } from "./settings.ts";
import { createPoints, type Point } from "./points.ts";

export type LaneNote = Pick<EventNote, "what" | "reference" | "detail" | "tookMs" | "status" | "raw" | "atMs">;
type Tell = (note: LaneNote & Pick<Partial<EventNote>, "who">) => void;

/** The request that the code at hand works for. */
interface Asked {
  readonly run: string;
  readonly key: string;
}

export interface LaneParts {
  readonly bank: PaymentGateway;
  readonly payments: Payments;
  readonly database: Database;
  readonly keys: Store;
  /** Other than `verify` and `refuse` for the page that shows where the limits are. */
  readonly onUnknown: "verify" | "rerun" | "hold";
  readonly withoutStore: "refuse" | "run";
  /** What every engine of the playground has. */
  readonly engine: Pick<
    IchidoOptions<Request>,
    "onUnknown" | "leaseMs" | "retentionMs" | "sweepMs" | "faults" | "onEvent" | "labels" | "probes"
  >;
  reach(this: void, point: Point): Promise<void>;
  /** For the event log. */
  tell(this: void, note: LaneNote): void;
}

const BANK_TIMEOUT_MS = 5_000;

export async function startLane(
  lane: LaneName,
  mount: (app: Express, parts: LaneParts) => void | Promise<void>,
): Promise<void> {
  // First of all: a parent that is killed while the lane starts leaves nothing behind.
  const end = (): void => process.exit(0);
  if (!process.connected) end();
  process.once("disconnect", end);
  try {
    await start(lane, mount);
  } catch (error) {
    exitWithReason(lane, error);
  }
}

async function start(lane: LaneName, mount: (app: Express, parts: LaneParts) => void | Promise<void>): Promise<void> {
  const settings = readLaneSettings();
  const { folder, port, leaseMs, retentionMs, onUnknown } = settings;
  const asked = new AsyncLocalStorage<Asked>();
  const say = (message: FromLane): void => {
    // Its parent may be gone by now: then there is nobody to tell, and the lane ends.
    if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
  };
  // When it happened, not when the supervisor gets to hear of it.
  const tell: Tell = (note) => {
    const { run = "" } = asked.getStore() ?? {};
    const known = { who: "api", lane, pid: process.pid, atMs: Date.now() } as const;
    say({ kind: "note", note: { ...known, ...note, ...(run === "" ? {} : { run }) } });
  };
  const points = createPoints((point, stand) => say({ kind: "at", point, stand, run: asked.getStore()?.run ?? "" }));
  const database = await openDatabase(settings.databaseUrl, join(folder, `${lane}.sqlite`));
  const keys = await openKeys(settings, database);
  await openOrders(database.direct);
  // With a key the answer is what is committed last, without one the row is.
  const settled = lane === "protected" ? "after-complete" : "row-settled";

  const app = express();
  app.disable("x-powered-by").set("etag", false);
  app.use(({ headers }, response, next) => {
    const key = String(headers["idempotency-key"] ?? "");
    const run = String(headers[RUN_HEADER] ?? "");
    if (run !== "") {
      say({ kind: "begun", run });
      response.once("close", () => say({ kind: "ended", run }));
    }
    asked.run({ run, key }, next);
  });
  app.use(captureBody(), express.json());
  app.post("/payments", async (_request, _response, next) => {
    tell({ what: "request" });
    await points.reach("before-claim");
    next();
  });
  const parts: LaneParts = {
    bank: bankGateway({ url: settings.bankUrl, timeoutMs: BANK_TIMEOUT_MS }),
    payments: await openPayments(database.direct, async (what, reference) => {
      if (isOneOfMany(asked.getStore()?.run ?? "")) return;
      const atMs = Date.now();
      const raw = await paymentRow(database.direct, reference);
      tell({ who: "database", what, reference, atMs, ...(raw && { raw }) });
    }),
    database,
    keys,
    onUnknown,
    withoutStore: settings.withoutStore,
    engine: {
      onUnknown: "hold",
      leaseMs,
      retentionMs,
      sweepMs: "off",
      labels: labelsOf,
      probes: { "bank.charge": bankProbe(settings.bankUrl, BANK_TIMEOUT_MS) },
      faults: (name) => (name === settled ? points.reach("after-commit") : undefined),
      onEvent: (event) =>
        tellEngineEvent(tell, event, async () => {
          const { run, key } = asked.getStore() ?? { run: "", key: "" };
          return isOneOfMany(run) || settings.redisUrl !== undefined ? undefined : recordRow(database.direct, key);
        }),
    },
    reach: async (point) => {
      if (point === "committed" || point === settled) await points.reach("after-commit");
      else if (point !== "row-settled") await points.reach(point);
    },
    tell,
  };
  await mount(app, parts);
  app.use("/orders", orderRoutes(lane === "protected" ? await keptEvents(parts) : naiveEvents(parts), parts));
  app.use(failed);
  const listening = await listen(app, "127.0.0.1", port);
  obey(points);
  say({ kind: "ready", port: listening.port });
}

/** By which the person on call finds a payment. */
function labelsOf({ body }: Request): Record<string, string> {
  const { orderId, customer } = body as { readonly orderId?: string; readonly customer?: string };
  return { ...(orderId === undefined ? {} : { order: orderId }), ...(customer === undefined ? {} : { customer }) };
}

/** What a service says when it does not know: the bank may have charged. */
const failed: ErrorRequestHandler = (error, _request, response, _next) => {
  if (error instanceof ShopError) return sendProblem(response, error);
  response.status(502).json({ code: "bank-silent", detail: "the bank did not answer" });
  return undefined;
};

function tellEngineEvent(tell: Tell, event: IchidoEvent, row: () => Promise<Raw | undefined>): void {
  if (event.type === "request") {
    const { outcome, status, durationMs, attempt } = event;
    const which = attempt === undefined ? outcome : `${outcome}, attempt ${attempt}`;
    tell({ what: "outcome", detail: which, tookMs: tenths(durationMs), ...(status === undefined ? {} : { status }) });
  } else if (event.type === "takeover") tell({ what: "takeover", detail: `attempt ${event.attempt}` });
  else if (event.type === "store-call" && ["claim", "complete", "release", "suspend"].includes(event.verb)) {
    const note = { who: "database", what: event.verb, tookMs: tenths(event.durationMs), atMs: Date.now() } as const;
    void row().then((raw) => tell({ ...note, ...(raw && { raw }) }));
  }
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}

function obey(points: ReturnType<typeof createPoints>): void {
  // A signal to the whole group (Ctrl-C) reaches the lane too; it ends with the channel, when its parent is done or dead.
  const wait = (): void => undefined;
  process.on("SIGINT", wait).on("SIGTERM", wait);
  process.on("message", (message: ToLane) => {
    if (message.kind === "go-on") return points.goOn(message.stand);
    if (message.kind === "stop-at") points.arm(message.point);
    else points.disarm();
    process.send?.({ kind: "armed" } satisfies FromLane, undefined, undefined, () => undefined);
  });
}
