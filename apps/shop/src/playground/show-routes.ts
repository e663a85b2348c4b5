/** Storms, limits, storage, tickets and the lanes' own files over HTTP. */
import { Router } from "express";
import { ShopError } from "../http/problems.ts";
import { codeShown } from "./code-shown.ts";
import { limitNames } from "./contract.ts";
import { oneOf, whole } from "./control-body.ts";
import { incidentNames, openTicket, type Drill } from "./drill.ts";
import { KEYS_PER_DAY_MAX, type Grown } from "./forecast.ts";
import { limitsOffered, runLimit } from "./limits.ts";
import type { World } from "./playground.ts";
import type { Stage } from "./stage.ts";
import { runSweep } from "./sweep-run.ts";
import { storageOf } from "./storage.ts";
import { startStorm, type Storm } from "./storm.ts";
import { checkStorm } from "./storm-plan.ts";

const TICKETS_MAX = 2_000;

export function showRoutes(world: () => Promise<World>, stage: Stage): Router {
  const router = Router();
  let storm: Storm | undefined;
  let storms = 0;
  /** Of the last storm that came to the protected lane, before the present one does. */
  let grown: Grown | undefined;
  router.post("/storm", async (request, response) => {
    const current = await world();
    const order = checkStorm(request.body, current.noServer);
    if (typeof order === "string") throw new ShopError("validation", order);
    storms += 1;
    const name = `storm${storms}`;
    await stage.enter({ what: "a storm", name });
    grown = storm?.grown ?? grown;
    storm?.leave();
    storm = startStorm(current, order, name);
    void storm.ended.then(() => stage.leave(name));
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
  router.post("/limits", async (request, response) => {
    const name = oneOf(request, "limit", limitNames);
    const refused = limitsOffered().find((each) => each.limit === name)?.unavailable;
    if (refused !== undefined) throw new ShopError("validation", refused);
    response.json(await stage.during("a limit", async () => runLimit(await world(), name)));
  });
  router.post("/sweep", async (_request, response) => {
    response.json(await stage.during("a sweep", async () => runSweep(await world())));
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
    const incident = oneOf(request, "incident", incidentNames);
    const drill = await stage.during("a drill", async () => openTicket(await world(), incident));
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
