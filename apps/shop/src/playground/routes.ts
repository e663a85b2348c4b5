/** The playground over HTTP: the controls under `/playground/api`, the lanes under `/playground/lanes`. */
import express, { Router } from "express";
import { ShopError } from "../http/problems.ts";
import { bankModes, lanes, type LaneName } from "./contract.ts";
import { oneOf } from "./control-body.ts";
import { passThrough } from "./door.ts";
import { guardControls, type GuardOptions } from "./guard.ts";
import type { Playground } from "./on-first-use.ts";
import { sendPageFile } from "./page.ts";
import { runRoutes } from "./run-routes.ts";
import { setBankMode } from "./runs.ts";
import { showRoutes } from "./show-routes.ts";
import { createStage } from "./stage.ts";
import { stateOf } from "./state.ts";

export type PlaygroundOptions = GuardOptions & Pick<Playground, "world" | "started" | "noServer">;

const BODY_BYTES_MAX = 16 * 1024;

export function playgroundRoutes(options: PlaygroundOptions): Router {
  const router = Router();
  const stage = createStage();
  // What everybody may read: the files of the page.
  router.get("/assets/:name", (request, response, next) => {
    if (!sendPageFile(request, response, `assets/${request.params.name}`)) next();
  });
  router.use(guardControls(options));
  router.all("/lanes/:lane/*path", async (request, response) => {
    const { proxy } = (await options.world()).lanes[laneOf(request.params.lane)];
    passThrough(request, response, proxy.url, `/${request.params.path.join("/")}`);
  });
  router.use(express.json({ limit: BODY_BYTES_MAX }));
  router.use((_request, response, next) => {
    response.set("Cache-Control", "no-store");
    next();
  });

  router.get("/api/state", (_request, response) => {
    response.json(stateOf(options.started(), options.noServer()));
  });
  router.post("/api/start", async (_request, response) => {
    response.json(stateOf(await options.world(), options.noServer()));
  });
  router.post("/api/bank", async (request, response) => {
    const mode = oneOf(request, "mode", bankModes);
    await stage.pass();
    await setBankMode(await options.world(), mode);
    response.status(204).end();
  });
  router.use("/api", runRoutes(options.world, stage), showRoutes(options.world, stage));
  router.get("/api/events.jsonl", async (_request, response) => {
    const { log } = await options.world();
    response.type("application/jsonl").send(log.events.map((event) => `${JSON.stringify(event)}\n`).join(""));
  });
  return router;
}

function laneOf(value: unknown): LaneName {
  const lane = lanes.find((each) => each === value);
  if (lane === undefined) throw new ShopError("not-found", `there are the lanes ${lanes.join(" and ")}`);
  return lane;
}
