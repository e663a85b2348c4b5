/** The bank's HTTP protocol. Its words and codes are the bank's own; the shop translates them in `src/gateway`. */
import { setTimeout as sleep } from "node:timers/promises";
import express, { type ErrorRequestHandler, type Express, type Response } from "express";
import { isSameOrigin, loopbackPort } from "../callers.ts";
import { checkFaultSetting, Faults, type Fault, type FaultSetting } from "./faults.ts";
import type { ChargeOrder, ChargeReply, Ledger, Manner, RefundOrder, RefundReply } from "./ledger.ts";

const STATUS: Readonly<Record<(ChargeReply | RefundReply)["kind"], number>> = {
  charged: 201,
  refunded: 201,
  "charged-before": 200,
  "refunded-before": 200,
  declined: 402,
  "no-such-charge": 404,
  conflict: 409,
  "exceeds-charge": 409,
};

/** `first`: how it misbehaves until it is told otherwise. */
export function bankApp(ledger: Ledger, first?: FaultSetting): Express {
  const faults = new Faults(first);
  const app = express();
  app.disable("x-powered-by").set("etag", false).use(express.json());

  app.post("/charges", async ({ body }, response) => {
    const order = checkCharge(body);
    if (order === undefined) return refuse(response, "a charge needs reference, amount and currency");
    return obey(faults.take(), response, (manner) => ledger.charge(order, manner));
  });

  app.post("/refunds", async ({ body }, response) => {
    const order = checkRefund(body);
    if (order === undefined) return refuse(response, "a refund needs reference, chargeId and amount");
    return obey(faults.take(), response, (manner) => ledger.refund(order, manner));
  });

  app.get("/charges", async ({ query }, response) => {
    if (typeof query.reference === "string") response.json(await ledger.find(query.reference));
    else refuse(response, "a look-up needs one reference");
  });

  app.get("/refunds", async ({ query }, response) => {
    if (typeof query.reference === "string") response.json(await ledger.findRefunds(query.reference));
    else refuse(response, "a look-up needs one reference");
  });

  app.get("/ledger", async (_request, response) => {
    response.json(await ledger.all());
  });

  app.post("/faults", ({ body, headers }, response) => {
    // Whatever listens on loopback is within reach of any page in this machine's browser.
    if (loopbackPort(headers.host ?? "") === undefined || !isSameOrigin(headers)) {
      return refuse(response, "faults are set by this machine's own programs, not by a page from elsewhere", 403);
    }
    const setting = checkFaultSetting(body);
    if (typeof setting === "string") return refuse(response, setting);
    faults.set(setting);
    response.status(204).end();
    return undefined;
  });

  app.use((_request, response) => {
    response.status(404).json({ error: "no_such_resource" });
  });
  app.use(badRequest);
  return app;
}

const badRequest: ErrorRequestHandler = (error: unknown, _request, response: Response, _next) => {
  const { status } = error as { readonly status?: number };
  if (status === undefined) console.error("bank:", error);
  response.status(status ?? 500).json({ error: status === undefined ? "internal_error" : "bad_request" });
};

async function obey(
  { mode, delayMs }: Fault,
  response: Response,
  carryOut: (manner: Manner) => Promise<ChargeReply | RefundReply>,
): Promise<void> {
  if (mode === "timeout-before-charge") return hold(response, delayMs);
  if (mode === "slow") await sleep(delayMs);
  const reply = await carryOut({ decline: mode === "decline", ignoreReference: mode === "ignore-references" });
  if (mode === "timeout-but-charge") return hold(response, delayMs);
  if (mode === "drop-connection") {
    response.destroy();
    return undefined;
  }
  const entry = "charge" in reply ? reply.charge : "refund" in reply ? reply.refund : { error: reply.kind };
  response.status(STATUS[reply.kind]).json(entry);
  return undefined;
}

/** Silence until the caller gives up, but not for ever. */
async function hold(response: Response, delayMs: number): Promise<void> {
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  await sleep(delayMs, undefined, { signal: gone.signal }).catch(() => undefined);
  response.destroy();
}

function checkCharge(body: unknown): ChargeOrder | undefined {
  const { reference, amount, currency } = membersOf(body);
  if (!isName(reference) || !isAmount(amount) || typeof currency !== "string" || !/^[A-Z]{3}$/.test(currency)) {
    return undefined;
  }
  return { reference, amount, currency };
}

function checkRefund(body: unknown): RefundOrder | undefined {
  const { reference, amount, chargeId } = membersOf(body);
  return isName(reference) && isName(chargeId) && isAmount(amount) ? { reference, chargeId, amount } : undefined;
}

function membersOf(body: unknown): Readonly<Record<string, unknown>> {
  return typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "" && value.length <= 255;
}

function isAmount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function refuse(response: Response, detail: string, status: 400 | 403 = 400): void {
  response.status(status).json({ error: status === 400 ? "bad_order" : "forbidden", detail });
}
