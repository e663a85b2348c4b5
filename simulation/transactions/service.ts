/** One server process: the real engine on a linked database, of this version or of the one before. */
import { createIchido, type Ichido } from "../../packages/ichido/src/core/engine/create-ichido.ts";
import type { Execution, HandlerOutcome } from "../../packages/ichido/src/core/contract/decision.ts";
import type { NeutralRequest, NeutralResponse } from "../../packages/ichido/src/core/contract/message.ts";
import type { OnUnknown, ResolvedRoute, VerifyAnswer } from "../../packages/ichido/src/core/contract/options.ts";
import type { HeaderLine } from "../../packages/ichido/src/core/contract/record.ts";
import type { Machine } from "../machine.ts";
import { createRandom } from "../random.ts";
import { runHandler, scriptOf, type Made } from "./handler.ts";
import type { Judge, Said } from "./judge.ts";
import { linkDatabase } from "./link.ts";
import type { RoutePlan } from "./plan.ts";
import type { DatabaseServer } from "./server.ts";
import type { Content, TransactionsWorld } from "./world.ts";

export interface WebResponse {
  readonly status: number;
  readonly headers: readonly HeaderLine[];
  readonly text: string;
  readonly by: "handler" | "replay" | "layer" | "framework";
}

export interface Service {
  serve(route: RoutePlan, content: Content): Promise<WebResponse>;
  close(): Promise<void>;
  /** Connections that are lent at this moment. */
  readonly lent: number;
}

/** How much longer the engine waits for a call than the store says it takes. */
const storeSlackMs = 30;
const json: readonly HeaderLine[] = [["content-type", "application/json"]];
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What a framework makes of an error. */
const failure: WebResponse = { status: 500, headers: [], text: "failed", by: "framework" };

function isProblem({ headers }: NeutralResponse): boolean {
  return headers.some(([name, value]) => name === "content-type" && value.includes("problem"));
}

function webOf(response: NeutralResponse, by: WebResponse["by"], added: readonly HeaderLine[] = []): WebResponse {
  const { status, headers, body } = response;
  return { status, headers: [...headers, ...added], text: decoder.decode(body), by };
}

function responseOf(status: number, said: Said): NeutralResponse {
  return { status, headers: json, body: encoder.encode(JSON.stringify(said)) };
}

export function createService(
  world: TransactionsWorld,
  machine: Machine,
  server: DatabaseServer,
  judge: Judge,
  isFormer: boolean,
): Service {
  const { plan } = world;
  const linked = linkDatabase(world, server, machine);
  let asked = 0;

  async function verify({ key }: RoutePlan): Promise<VerifyAnswer> {
    asked += 1;
    const random = createRandom(plan.seed, machine.number, asked, 41);
    await new Promise<void>((resolve) => machine.after(random.between(0, plan.verifyMs * 0.9), resolve));
    const fails = !world.isQuiet && random.chance(plan.habits.verifyFails);
    world.note(
      `${machine.name} is asked about ${key}: ${fails ? "nothing to tell" : `${judge.chargesOf(key)} charges`}`,
    );
    if (fails && random.chance(0.5)) throw new Error("the provider cannot be asked");
    if (fails) return { verdict: "not-visible-yet" };
    if (judge.chargesOf(key) === 0) {
      judge.cleared(key);
      return { verdict: "absent" };
    }
    return { verdict: "found", response: { status: 201, body: { key, by: "verify", writes: 0 } satisfies Said } };
  }

  function onUnknownOf(route: RoutePlan): OnUnknown {
    return route.onUnknown === "verify" ? { verify: () => verify(route) } : route.onUnknown;
  }

  const modeOf = (route: RoutePlan): "lease" | "transaction" =>
    isFormer && route.former !== undefined ? "lease" : route.mode;

  const ichido: Ichido<RoutePlan> = createIchido<RoutePlan>({
    store: linked.store,
    transactions: linked.transactions,
    scope: () => ({ principal: "p" }),
    onUnknown: "rerun",
    environment: machine.environment,
    storeTimeoutMs: plan.callMs + storeSlackMs,
    verifyMs: plan.verifyMs,
    executionMs: plan.executionMs,
    closeMs: plan.executionMs,
    sweepMs: "off",
    onEvent: () => undefined,
    ...(plan.replayCache ? { replayCache: {} } : {}),
  });
  const routes = new Map<RoutePlan, ResolvedRoute<RoutePlan>>(
    plan.routes.map((route) => [
      route,
      ichido.route({
        operation: route.key,
        mode: modeOf(route),
        onUnknown: onUnknownOf(route),
        leaseMs: route.leaseMs,
        ...(route.waitMs === undefined ? {} : { inFlight: { waitMs: route.waitMs } }),
      }),
    ]),
  );

  function neutral(route: RoutePlan, content: Content): NeutralRequest<RoutePlan> {
    return {
      method: "POST",
      target: `/${route.key}`,
      headerLines: (name) => (name === "idempotency-key" ? [`"${route.key}"`] : []),
      body: async () => ({ kind: "bytes", bytes: encoder.encode(content === "usual" ? "{}" : `{"other":1}`) }),
      native: route,
    };
  }

  /** The first answer that is written is the only one, whoever writes it. */
  function executed(route: RoutePlan, content: Content, execution: Execution): Promise<WebResponse> {
    const mode = modeOf(route);
    const { context } = execution;
    const charges = isFormer && route.former === "charges";
    const script = scriptOf(world, mode, charges);
    const run = world.newRun(route.key, context.fence, content, machine);
    judge.begun(run, mode, route.onUnknown === "verify");
    return new Promise((resolve) => {
      const settle = async (outcome: HandlerOutcome): Promise<void> => {
        if (run.isSettled) return;
        run.isSettled = true;
        const settled = await execution.settle(outcome);
        if (settled.kind === "replace") {
          return resolve(webOf(settled.response, isProblem(settled.response) ? "layer" : "handler"));
        }
        if (outcome.kind !== "answered") return resolve(failure);
        return resolve(webOf(outcome.response, "handler", settled.addHeaders));
      };
      const { transactions } = linked;
      runHandler({ world, judge, machine, route, mode, charges, context, run, script, transactions }).then(
        (made: Made) =>
          settle(
            made === "made"
              ? { kind: "threw", error: new Error("the context has answered") }
              : { kind: "answered", response: responseOf(made.status, made.said) },
          ),
        (error: unknown) => settle({ kind: "threw", error }),
      );
      if (script.early !== undefined) {
        const { from, afterMs, status } = script.early;
        const said = { key: route.key, by: run.name, writes: 0 };
        const answer = (): void => void settle({ kind: "answered", response: responseOf(status, said) });
        const wait = (): void => void machine.after(afterMs, answer);
        if (from === "start") wait();
        else world.onCompleting.set(`${run.key} ${run.fence}`, wait);
      }
      execution.onProvided((response) => {
        resolve(webOf(response, isProblem(response) ? "layer" : "handler"));
      });
    });
  }

  return {
    async serve(route, content) {
      const resolved = routes.get(route);
      if (resolved === undefined) throw new Error("no such route");
      const decision = await ichido.decide(neutral(route, content), resolved);
      if (decision.kind === "replay") return webOf(decision.response, "replay");
      if (decision.kind === "reject") return webOf(decision.response, "layer");
      if (decision.kind === "pass") throw new Error("an unprotected route");
      return executed(route, content, decision.execution);
    },
    close: () => ichido.close(),
    get lent() {
      return linked.lent;
    },
  };
}
