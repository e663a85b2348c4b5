/** Runs over HTTP: a new one, its fault armed in a lane, what the buyer saw, and what everybody counted. */
import { Router, type Request } from "express";
import { ShopError } from "../http/problems.ts";
import { faultNames, lanes } from "./contract.ts";
import { oneOf } from "./control-body.ts";
import { deck, deckView } from "./deck.ts";
import { orderViewOf } from "./orders.ts";
import type { World } from "./playground.ts";
import { actOf, arm, disarm, newRun, viewOf, type Run } from "./runs.ts";
import type { Stage } from "./stage.ts";

const RUNS_MAX = 2_000;

export function runRoutes(world: () => Promise<World>, stage: Stage): Router {
  const router = Router();
  const runs = new Map<string, Run>();
  router.post("/runs", async (request, response) => {
    const run = newRun(oneOf(request, "fault", faultNames));
    const { noServer } = await world();
    const refused = deckView(noServer).find(({ fault }) => fault === run.fault)?.unavailable;
    if (refused !== undefined) throw new ShopError("validation", refused);
    await stage.pass();
    if (runs.size >= RUNS_MAX) runs.delete(runs.keys().next().value ?? "");
    runs.set(run.run, run);
    response.status(201).json({ ...run, expected: deck[run.fault].expected });
  });
  router.get("/runs/:run", async (request, response) => {
    response.json(await viewOf(await world(), runOf(runs, request)));
  });
  router.post("/runs/:run/arm", async (request, response) => {
    const [lane, run, current] = [oneOf(request, "lane", lanes), runOf(runs, request), await world()];
    await (run.fault === "none" ? stage.pass() : stage.enter(actOf(current, run)));
    await arm(current, lane, run);
    response.status(204).end();
  });
  router.post("/runs/:run/disarm", async (request, response) => {
    const { run } = runOf(runs, request);
    const lane = oneOf(request, "lane", lanes);
    // What others have armed since is theirs.
    if (stage.isOn(run)) await disarm(await world(), lane);
    stage.leave(run);
    response.status(204).end();
  });
  router.post("/runs/:run/notes", async (request, response) => {
    const { run } = runOf(runs, request);
    const { log } = await world();
    log.note({ who: "buyer", pid: 0, run, ...noteOf(request) });
    response.status(204).end();
  });
  router.get("/runs/:run/order", async (request, response) => {
    response.json(await orderViewOf(await world(), runOf(runs, request)));
  });
  return router;
}

function runOf(runs: ReadonlyMap<string, Run>, request: Request): Run {
  const run = runs.get(String(request.params["run"]));
  if (run === undefined) throw new ShopError("not-found", "there is no such run; this shop may have started anew");
  return run;
}

const buyerWords = ["click", "try", "paid", "not-paid", "reload", "key-found", "tab"] as const;
const DETAIL_MAX = 200;

/** A page of this machine has this machine's clock; what is far from it is not believed. */
const APART_MS_MAX = 60_000;

function noteOf(request: Request) {
  const { detail, status, atMs } = request.body as Readonly<Record<string, unknown>>;
  const isNear = typeof atMs === "number" && Math.abs(Date.now() - atMs) < APART_MS_MAX;
  return {
    lane: oneOf(request, "lane", lanes),
    what: oneOf(request, "what", buyerWords),
    ...(typeof detail === "string" ? { detail: detail.slice(0, DETAIL_MAX) } : {}),
    ...(Number.isInteger(status) ? { status: status as number } : {}),
    ...(isNear ? { atMs } : {}),
  };
}
