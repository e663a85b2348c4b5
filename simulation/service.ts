/** One server process: the real engine on a linked store, its routes, perhaps a reconciler; and how a request goes through it. */
import { createIchido, type Ichido } from "../packages/ichido/src/core/engine/create-ichido.ts";
import { isIchidoError } from "../packages/ichido/src/core/contract/errors.ts";
import type { IchidoEvent } from "../packages/ichido/src/core/contract/events.ts";
import type { NeutralRequest, NeutralResponse } from "../packages/ichido/src/core/contract/message.ts";
import type {
  OnUnknown,
  ResolvedRoute,
  RouteOptions,
  VerifyAnswer,
} from "../packages/ichido/src/core/contract/options.ts";
import { createReconciler, type Reconciler } from "../packages/ichido/src/core/engine/reconciler.ts";
import type { HeaderLine, Identity } from "../packages/ichido/src/core/contract/record.ts";
import { keyHashOf } from "../packages/ichido/src/core/request/scope.ts";
import type {
  Claim,
  ClaimRequest,
  CompleteRequest,
  Fenced,
  LandedRequest,
  RenewRequest,
  StepRequest,
} from "../packages/ichido/src/core/contract/store.ts";
import { CommitFailed, type TransactionHandle } from "../packages/ichido/src/core/contract/transaction.ts";
import { bodyOf, runHandler, type Asked } from "./handler.ts";
import { noteGrant } from "./judgement.ts";
import { judgeLastWord, type LastWord } from "./last-words.ts";
import type { Machine } from "./machine.ts";
import { giveUpAfterMsOf } from "./patience.ts";
import type { RoutePlan } from "./plan.ts";
import type { Provider } from "./provider.ts";
import { linkStore } from "./store-link.ts";
import type { StoreServer } from "./store-server.ts";
import { isOpen, type World } from "./world.ts";

export interface WebRequest extends Asked {
  readonly number: number;
  /** The key as the header has it. */
  readonly header: string;
  readonly content: string;
  /** The place that it comes to, while somebody is there. */
  readonly slot?: number | undefined;
}

export interface WebResponse {
  readonly status: number;
  readonly headers: readonly HeaderLine[];
  readonly body: string;
  /** The handler ran, or the layer answered by itself. */
  readonly by: "handler" | "replay" | "layer" | "unprotected";
}

export interface Service {
  readonly machine: Machine;
  serve(request: WebRequest): Promise<WebResponse>;
  close(): Promise<void>;
}

/** How much longer the engine waits for a call than the store says it takes. */
const storeSlackMs = 50;

/** What a framework makes of an error. */
const failure = { status: 500, body: "failed" };

/** Made by the handler through its context, and not an answer for the time being. */
function isOwn({ status, headers }: NeutralResponse): boolean {
  return status !== 202 && !headers.some(([name, value]) => name === "content-type" && value.includes("problem"));
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** As the next version reads it, which tells the reading of this one beside it. */
function readAnew(request: ClaimRequest): ClaimRequest {
  const { version, raw, canonical } = request.fingerprint;
  const fingerprint = { version: version + 1, raw, canonical: canonical.map((byte) => 255 - byte), former: canonical };
  return { ...request, fingerprint };
}

/** A claim is sent while this very process has an outcome for the record: on its way, or not taken by the store. */
function noteOwnOutcome(world: World, machine: Machine, { identity, owner }: ClaimRequest, sent?: number): void {
  const seen = world.seenOf(identity);
  const run = world.runs.find(({ id, fence }) => id === seen.id && fence === seen.record?.fence);
  if (run?.kept === undefined || run.machine !== machine || run.fence !== sent || !isOpen(seen.record)) return;
  if (world.nowMs - run.startedMs < world.plan.executionMs) seen.hasty.set(owner, run.fence);
}

export function createService(world: World, machine: Machine, far: StoreServer, provider: Provider): Service {
  const { plan } = world;
  const { store, transactions } = linkStore(world, machine, far);
  /** Requests whose claim the store has answered. */
  const heard = new Set<string>();
  /** Keys, and the fence whose outcome was sent last. */
  const sent = new Map<string, number>();
  /** Keys with fences whose last word may be on its way. */
  const unheard = new Set<string>();
  const plainClaim = store.claim.bind(store);
  const plainStart = store.startStep.bind(store);
  const plainLanded = store.landed.bind(store);
  const plainRenew = store.renew.bind(store);
  const plainComplete = store.complete.bind(store);
  function noteOutcome<Sent extends readonly [Claim, ...unknown[]]>(
    verb: LastWord,
    send: (...args: Sent) => Promise<Fenced>,
  ) {
    return async (...args: Sent): Promise<Fenced> => {
      const { identity, fence } = args[0];
      const word = `${keyHashOf(identity)} ${fence}`;
      sent.set(keyHashOf(identity), fence);
      judgeLastWord(world, machine, { verb, isHeard: !unheard.has(word) }, args);
      unheard.add(word);
      const result = await send(...args);
      unheard.delete(word);
      return result;
    };
  }
  const listening = Object.assign(store, {
    async claim(...given: Parameters<typeof plainClaim>) {
      const [asked, ...more] = given;
      const { prints } = world.route(asked.identity.operation).next ?? {};
      // What is asked about was read before.
      const isAnew = machine.isNext && prints === "version" && asked.takeover !== "open";
      const args: typeof given = isAnew ? [readAnew(asked), ...more] : given;
      const sentMs = machine.monotonicMs();
      const key = keyHashOf(args[0].identity);
      // A reconciler with a store alone asks what happened before it decides, in whatever process it runs.
      if (args[0].takeover !== "open" || plan.byEngine) noteOwnOutcome(world, machine, args[0], sent.get(key));
      const result = await plainClaim(...args);
      world.seenOf(args[0].identity).heardMs.set(machine, world.nowMs);
      // However late it is heard, and whether or not it is looked for any more.
      noteGrant(world, machine, args[0], result);
      const asks = args[0].labels?.["ask"];
      // What comes later than that the engine has given up.
      if (asks !== undefined && machine.monotonicMs() - sentMs < plan.driver.timeoutMs) heard.add(asks);
      return result;
    },
    complete: noteOutcome("complete", async (request: CompleteRequest, handle?: TransactionHandle) => {
      const result = await plainComplete(request, handle);
      if (handle !== undefined && result === "ok") world.seenOf(request.identity).written.add(request.fence);
      return result;
    }),
    release: noteOutcome("release", store.release.bind(store)),
    suspend: noteOutcome("suspend", store.suspend.bind(store)),
    async startStep(request: StepRequest) {
      const result = await plainStart(request);
      const name = `${request.fence} ${request.name}`;
      const { refusedSteps } = world.seenOf(request.identity);
      if (result === "stale") refusedSteps.add(name);
      else refusedSteps.delete(name);
      return result;
    },
    async renew(requests: readonly RenewRequest[]) {
      const runs = requests.map(({ identity, fence }) => {
        const { id } = world.seenOf(identity);
        return world.runs.find((each) => each.id === id && each.fence === fence && each.machine === machine);
      });
      for (const run of runs) {
        const isOver = run !== undefined && world.nowMs - run.startedMs > plan.executionMs + plan.leaseMs;
        if (isOver && !machine.wasFrozen) world.violate("held-past-limit", `${run.id}: ${machine.name}`);
      }
      const sentMs = machine.monotonicMs();
      const results = await plainRenew(requests);
      // What comes later the engine has given up; its trust ends by itself.
      const isHeard = machine.monotonicMs() - sentMs < Math.min(...requests.map(({ leaseMs }) => leaseMs)) / 3;
      for (const [place, run] of runs.entries()) {
        if (results[place] !== "stale" || run === undefined || !isHeard) continue;
        // Completed by its own transaction, whose end it has yet to hear of: that tells what became of it.
        const seen = world.seen.get(run.id);
        if (seen?.completed.has(run.fence) === true || (run.isCommitting && seen?.written.has(run.fence) === true))
          continue;
        machine.after(1, () => {
          // A step may have told it already that it must stop.
          if (run.endedMs === undefined && !run.isOpen && run.signal?.aborted === false) {
            world.violate("loss-untold", `${run.id}: ${machine.name} was refused a renewal, and its handler goes on`);
          }
        });
      }
      return results;
    },
    async landed(request: LandedRequest) {
      const result = await plainLanded(request);
      if (result === "not-landed") world.seenOf(request.identity).notLanded.add(request.fence);
      return result;
    },
  });

  async function truth(
    identity: Identity,
    attempt: number,
    reference: (name: string) => string,
  ): Promise<VerifyAnswer> {
    const seen = world.seenOf(identity);
    const fence = seen.record?.fence ?? -1;
    const answer = await provider.ask(machine, (): VerifyAnswer => {
      const found = provider.look(reference("main"));
      const intent = world.effects.find((each) => each.reference === reference("main"))?.intent ?? "";
      if (found.verdict === "found") {
        const body = JSON.parse(bodyOf(seen.id, intent, { found: found.charge })) as unknown;
        return { verdict: "found", response: { status: 201, body } };
      }
      return provider.isPending(reference("main")) ? { verdict: "not-visible-yet" } : { verdict: "absent" };
    });
    world.note(`${machine.name} asked about ${seen.id}, attempt ${attempt}: ${answer.verdict}`);
    if (answer.verdict !== "not-visible-yet") seen.cleared.add(fence);
    return answer;
  }

  function onUnknownOf(route: RoutePlan): OnUnknown {
    if (route.onUnknown !== "verify") return route.onUnknown;
    return { verify: ({ identity, attempt, reference }) => truth(identity, attempt, reference) };
  }

  const ichido: Ichido<WebRequest> = createIchido<WebRequest>({
    store: listening,
    transactions,
    scope: ({ principal }) => ({ principal }),
    onUnknown: "rerun",
    environment: machine.environment,
    storeTimeoutMs: plan.driver.timeoutMs + storeSlackMs,
    verifyMs: Math.min(50_000, Math.max(10, Math.ceil(plan.callMsMax * 2))),
    closeMs: Math.ceil(plan.leaseMs),
    executionMs: plan.executionMs,
    sweepMs: plan.isShort ? Math.max(50, Math.ceil(plan.leaseMs)) : "off",
    labels: ({ number }) => ({ ask: String(number) }),
    onEvent: noted,
    ...(plan.replayCache ? { replayCache: {} } : {}),
  });

  function noted(event: IchidoEvent): void {
    if (event.type === "warning" && event.code === "labels-failed") world.violate("crashed", event.message);
  }

  function optionsOf(route: RoutePlan): RouteOptions<WebRequest> {
    return {
      operation: route.operation,
      profile: route.profile,
      onUnknown: onUnknownOf(route),
      leaseMs: route.leaseMs,
      retentionMs: route.retentionMs,
      statusUrl: (id) => `/operations/${id}`,
      ...(route.forgets ? { bodyBytesMax: 8 } : {}),
      ...(machine.isNext && route.next?.prints === "bytes" ? { fingerprint: { compare: "bytes" } } : {}),
      dangerouslyRunWithoutStore: route.runsWithoutStore,
      ...(route.inFlight === "default" ? {} : { inFlight: route.inFlight }),
    };
  }
  const routes = new Map<RoutePlan, ResolvedRoute<WebRequest>>(
    plan.routes.map((route) => [route, ichido.route(optionsOf(route))]),
  );

  let reconciler: Reconciler | undefined;
  const reconciled = plan.routes.filter(({ onUnknown }) => onUnknown === "verify");
  if (plan.reconciler !== undefined && reconciled.length > 0) {
    const { everyMs, olderThanMs } = plan.reconciler;
    reconciler = createReconciler(plan.byEngine ? ichido : listening, {
      operations: Object.fromEntries(
        reconciled.map(({ operation }) => [
          operation,
          { verify: ({ identity, attempt, reference }) => truth(identity, attempt, reference) },
        ]),
      ),
      everyMs,
      olderThanMs,
      giveUpAfterMs: giveUpAfterMsOf(plan),
      verifyMs: Math.min(50_000, Math.max(10, Math.ceil(plan.callMsMax * 2))),
      environment: machine.environment,
      onEvent: noted,
    });
    reconciler.start();
  }

  function neutral(request: WebRequest): NeutralRequest<WebRequest> {
    return {
      method: "POST",
      target: `/${request.route.operation}`,
      headerLines: (name) =>
        name === "idempotency-key" ? [request.header] : name === "content-type" ? ["application/json"] : [],
      body: async () => ({ kind: "bytes", bytes: encoder.encode(request.content) }),
      native: request,
    };
  }

  const web = (response: NeutralResponse, by: WebResponse["by"], added: readonly HeaderLine[] = []): WebResponse => ({
    status: response.status,
    headers: [...response.headers, ...added],
    body: decoder.decode(response.body),
    by,
  });

  async function served(request: WebRequest): Promise<WebResponse> {
    const route = routes.get(request.route);
    if (route === undefined) throw new Error("no such route");
    const seen = world.seenOf({ key: request.key as never, principal: request.principal, operation: route.operation });
    const decision = await ichido.decide(neutral(request), route);
    if (decision.kind === "replay") return web(decision.response, "replay");
    if (decision.kind === "reject") return web(decision.response, "layer");
    const parts = { world, machine, provider, asked: request, seen };
    if (decision.kind === "pass") {
      world.unprotected.add(String(request.number));
      if (heard.has(String(request.number))) {
        world.violate("ran-beside", `${seen.id}: unprotected after the store had answered`);
      }
      const made = await runHandler({ ...parts, transactions, context: undefined }).catch(() => "made" as const);
      return { ...(made === "made" ? failure : made), headers: [], by: "unprotected" };
    }
    const { execution } = decision;
    const handled = async (): Promise<WebResponse> => {
      try {
        const made = await runHandler({ ...parts, transactions, context: execution.context });
        if (made === "made") throw new Error("the context has answered");
        const response: NeutralResponse = {
          status: made.status,
          headers: [["content-type", "application/json"]],
          body: encoder.encode(made.body),
        };
        const settled = await (request.route.streams === true
          ? execution.beginStream(response)
          : execution.settle({ kind: "answered", response }));
        return settled.kind === "replace"
          ? web(settled.response, "layer")
          : web(response, "handler", settled.addHeaders);
      } catch (error) {
        const settled = await execution.settle({ kind: "threw", error });
        if (settled.kind === "replace") return web(settled.response, "layer");
        if (error instanceof CommitFailed && !seen.notLanded.has(execution.context.fence)) {
          world.violate("commit-denied", `${seen.id}: told that it failed, and the commit may have landed`);
        }
        return { ...failure, headers: [], by: "unprotected" };
      }
    };
    const provided = new Promise<WebResponse>((resolve) => {
      execution.onProvided((response) => resolve(web(response, isOwn(response) ? "handler" : "layer")));
    });
    return Promise.race([handled(), provided]);
  }

  async function ran(request: WebRequest): Promise<WebResponse> {
    const { route, key, principal, content } = request;
    const seen = world.seenOf({ key: key as never, principal, operation: route.operation });
    try {
      const result = await ichido.run(
        {
          operation: route.operation,
          scope: { principal },
          key,
          input: JSON.parse(content) as unknown,
          onUnknown: onUnknownOf(route),
          leaseMs: route.leaseMs,
          retentionMs: route.retentionMs,
          labels: { ask: String(request.number) },
          ...(route.inFlight === "default" ? {} : { inFlight: route.inFlight }),
        },
        async (context) => {
          const made = await runHandler({ world, machine, provider, transactions, asked: request, seen, context });
          if (made === "made") return undefined;
          if (made.status >= 400) throw new Error("no value");
          return JSON.parse(made.body) as unknown;
        },
      );
      const headers: HeaderLine[] = result.replayed ? [["idempotency-replayed", "true"]] : [];
      const by = result.replayed ? "replay" : "handler";
      return { status: 201, headers, body: JSON.stringify(result.value), by };
    } catch (error) {
      if (!isIchidoError(error)) return { ...failure, headers: [], by: "unprotected" };
      const body = JSON.stringify({ code: error.code, retryable: error.retryable });
      return { status: error.status, headers: [["content-type", "application/problem+json"]], body, by: "layer" };
    }
  }

  return {
    machine,
    serve: (given) => {
      // A copy of a request is a request of its own.
      const request = { ...given, number: world.nextRequest() };
      const { principal, route } = request;
      world.seenOf({ key: request.key as never, principal, operation: route.operation }).intents.add(request.intent);
      return request.route.via === "run" ? ran(request) : served(request);
    },
    close: async () => {
      await Promise.all([reconciler?.stop(), ichido.close()]);
    },
  };
}
