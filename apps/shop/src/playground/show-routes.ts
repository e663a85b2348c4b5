/** Storms, limits, storage, tickets and the lanes' own files over HTTP. */
import { Router } from "express";
import { ShopError } from "../http/problems.ts";
import { codeShown } from "./code-shown.ts";
import { limitNames, type SweepView } from "./contract.ts";
import { oneOf, whole } from "./control-body.ts";
import { incidentNames, openTicket, type Drill } from "./drill.ts";
import { KEYS_PER_DAY_MAX, type Grown } from "./forecast.ts";
import { limitsOffered, runLimit, type LimitView } from "./limits.ts";
import type { World } from "./playground.ts";
import { runSweep } from "./sweep-run.ts";
import { storageOf } from "./storage.ts";
import { startStorm, type Storm } from "./storm.ts";
import { checkStorm } from "./storm-plan.ts";

const TICKETS_MAX = 2_000;

export function showRoutes(world: () => Promise<World>): Router {
  const router = Router();
  let storm: Storm | undefined;
  let storms = 0;
  /** Of the last storm that came to the protected lane, before the present one does. */
  let grown: Grown | undefined;
  router.post("/storm", async (request, response) => {
    const current = await world();
    const order = checkStorm(request.body, current.data.isServer);
    if (typeof order === "string") throw new ShopError("validation", order);
    if (storm?.isRunning === true) throw new ShopError("validation", "a storm is running; wait for its end");
    storms += 1;
    grown = storm?.grown ?? grown;
    storm?.leave();
    storm = startStorm(current, order, `storm${storms}`);
    response.status(202).json(await storm.view());
  });
  router.get("/storm", async (_request, response) => {
    response.json((await storm?.view()) ?? null);
  });
  router.post("/storm/stop", async (_request, response) => {
    if (storm?.isRunning !== true) throw new ShopError("validation", "no storm is running");
    storm.stop();
    response.status(202).json(await storm.view());
  });
  let limit: Promise<LimitView | SweepView> | undefined;
  const alone = async <View extends LimitView | SweepView>(run: (current: World) => Promise<View>): Promise<View> => {
    const current = await world();
    if (limit !== undefined || storm?.isRunning === true) {
      throw new ShopError(
        "validation",
        "a limit, a sweep or a storm is running, and the bank is shared; wait for its end",
      );
    }
    const running = run(current);
    limit = running;
    return running.finally(() => {
      limit = undefined;
    });
  };
  router.post("/limits", async (request, response) => {
    const name = oneOf(request, "limit", limitNames);
    const refused = limitsOffered().find((each) => each.limit === name)?.unavailable;
    if (refused !== undefined) throw new ShopError("validation", refused);
    response.json(await alone((current) => runLimit(current, name)));
  });
  router.post("/sweep", async (_request, response) => {
    response.json(await alone(runSweep));
  });
  router.get("/code", async (_request, response) => {
    response.json(await codeShown());
  });
  router.get("/storage", async (request, response) => {
    const { perDay, days } = request.query;
    const asked = {
      days: whole(days, "days", 365),
      perDay: perDay === undefined ? undefined : whole(perDay, "perDay", KEYS_PER_DAY_MAX),
    };
    response.json(await storageOf(await world(), asked, storm?.grown ?? grown));
  });
  const drills = new Map<string, Drill>();
  router.post("/drills", async (request, response) => {
    const drill = await openTicket(await world(), oneOf(request, "incident", incidentNames));
    if (drills.size >= TICKETS_MAX) drills.delete(drills.keys().next().value ?? "");
    drills.set(drill.ticket.ticket, drill);
    response.status(201).json(drill.ticket);
  });
  router.post("/drills/:ticket/answer", (request, response) => {
    const drill = drills.get(request.params.ticket);
    if (drill === undefined) throw new ShopError("not-found", "there is no such ticket");
    const isRight = oneOf(request, "incident", incidentNames) === drill.truth;
    response.json({ isRight, truth: drill.truth, tookMs: Date.now() - drill.ticket.atMs });
  });
  return router;
}
