/** From a caller to a server and back: requests and answers that get lost, come twice, or meet a gateway that answers itself. */
import type { Fleet } from "./fleet.ts";
import type { Machine } from "./machine.ts";
import { createRandom } from "./random.ts";
import type { WebRequest, WebResponse } from "./service.ts";
import { judgeRemembered, judgeResponse } from "./answers.ts";
import type { World } from "./world.ts";

export class NetworkError extends Error {}

export type Heard =
  | WebResponse
  | (Omit<WebResponse, "by"> & { readonly by: "gateway"; readonly isRedirected: boolean });

const page = (status: number, isRedirected = false): Heard => ({
  status,
  headers: [["content-type", "text/html"]],
  body: "<html>not what you asked for</html>",
  by: "gateway",
  isRedirected,
});

export function send(world: World, fleet: Fleet, from: Machine, request: WebRequest): Promise<Heard> {
  const { plan, scheduler } = world;
  const { weather } = plan;
  from.sent += 1;
  const name = `${from.name}.${from.sent}`;
  const random = createRandom(plan.seed, from.number, from.sent);
  const hit = (kind: string, share: number): boolean => random.chance(share) && world.strikes(`${name}:${kind}`);
  const isLostBefore = hit("web-lost-before", weather.webLostBefore);
  const isLostAfter = hit("web-lost-after", weather.webLostAfter);
  const isTwice = hit("web-twice", weather.webTwice);
  const gateway = hit("gateway", weather.gateway) ? random.pick(["404", "502", "504", "login"] as const) : undefined;
  const toMs = random.between(0.2, plan.leaseMs * 0.02 + 1);
  const backMs = random.between(0.2, plan.leaseMs * 0.02 + 1);
  const secondMs = plan.leaseMs * random.between(0, 1);
  const resetMs = random.between(0, plan.leaseMs * 0.3);
  const drawn = [random.int(0, 1_000), random.int(0, 1_000)] as const;
  const home = Number.parseInt(request.key.slice(0, 8), 16);
  // Of two versions, the one that left a step may be the only one to tell what became of it.
  const { slot = plan.isSticky && request.route.next === undefined ? home : undefined } = request;
  const slots = slot === undefined ? drawn : ([slot, slot] as const);
  const troubles = `${isLostBefore ? " lost" : ""}${isLostAfter ? " answer-lost" : ""}${gateway === undefined ? "" : ` gateway-${gateway}`}`;
  world.note(
    `${from.name} asks ${request.route.operation} key ${request.key} for ${request.intent} (${name}${troubles})`,
  );

  return new Promise((resolve, reject) => {
    const hear = (deliver: () => void): void => void scheduler.after(backMs, () => from.deliver("reply", deliver));
    const fail = (): void =>
      void scheduler.after(resetMs, () => from.deliver("reply", () => reject(new NetworkError("lost"))));
    if (isLostBefore) return fail();
    if (gateway === "404") return hear(() => resolve(page(404)));
    if (gateway === "502") return hear(() => resolve(page(502)));
    if (gateway === "login") return hear(() => resolve(page(200, true)));

    const arrive = (slot: number, isCopy: boolean): void => {
      const service = fleet.pick(slot);
      if (service === undefined) {
        if (!isCopy) hear(() => resolve(page(502)));
        return;
      }
      const { machine } = service;
      const startedMs = world.nowMs;
      const stopWatching = world.onceGone(machine, () => {
        if (!isCopy) fail();
      });
      machine.deliver("reply", () => {
        service.serve(request).then(
          (response) => {
            stopWatching();
            judgeResponse(world, request, response, startedMs);
            judgeRemembered(world, machine, request, response, startedMs);
            if (isCopy) return;
            if (gateway === "504") hear(() => resolve(page(504)));
            else if (isLostAfter) fail();
            else hear(() => resolve(response));
          },
          (error: unknown) => {
            stopWatching();
            world.violate("crashed", `${request.route.operation}: ${String(error)}`);
          },
        );
      });
    };
    scheduler.after(toMs, () => arrive(slots[0], false));
    if (isTwice) scheduler.after(toMs + secondMs, () => arrive(slots[1], true));
  });
}
