/** A handler that follows its script: calls to the outside world, as steps or by themselves, and one of several endings. */
import type { Context } from "../packages/ichido/src/core/contract/context.ts";
import { stepOptionsFor } from "../packages/ichido/src/core/contract/provider-profiles.ts";
import { FenceLost, OutcomeOpen } from "../packages/ichido/src/core/engine/steps.ts";
import type { StepOptions } from "../packages/ichido/src/core/contract/options.ts";
import type { TransactionRunner } from "../packages/ichido/src/core/contract/transaction.ts";
import type { Machine } from "./machine.ts";
import type { Action, Ending, RoutePlan } from "./plan.ts";
import { isRenamed } from "./plan-deploys.ts";
import { CallLost, type CallRequest, type Provider } from "./provider.ts";
import type { SimulatedTransaction } from "./store-link.ts";
import { isOpen, type Run, type Seen, type World } from "./world.ts";

export interface Asked {
  readonly route: RoutePlan;
  readonly key: string;
  readonly principal: string;
  readonly intent: string;
}

/** What the handler came to: an answer, or nothing because the context has made one. */
export type Made = { readonly status: number; readonly body: string } | "made";

export interface HandlerParts {
  readonly world: World;
  readonly machine: Machine;
  readonly provider: Provider;
  readonly asked: Asked;
  readonly seen: Seen;
  readonly context: Context | undefined;
  readonly transactions: TransactionRunner<SimulatedTransaction>;
}

type Charge = { readonly charge: number };
type StepAction = Extract<Action, { readonly do: "step" }>;

/** The longest a start may wait for its acknowledgement. */
const acknowledgedMs = ({ plan }: World): number => 2 * plan.driver.timeoutMs + 100;

/** The longest a call may be on its way, and an effect stay invisible, from the start that was noted. */
function visibleAfterMs(world: World): number {
  const { callMsMax, lagMs } = world.plan;
  return Math.ceil(callMsMax + lagMs + acknowledgedMs(world));
}

/** A step has another name in the next version. */
function stepNameOf({ asked, machine }: HandlerParts, action: Action & { readonly name: string }): string {
  return isRenamed(asked.route, action) && machine.isNext ? `${action.name}.next` : action.name;
}

/** With a result, under the name that it has in the other version: that result is not known to be of this step. */
function isMadeElsewhere(parts: HandlerParts, action: Action & { readonly name: string }): boolean {
  if (!isRenamed(parts.asked.route, action)) return false;
  const name = stepNameOf(parts, action);
  const isOfBoth = (each: string): boolean => each === action.name || each === `${action.name}.next`;
  return parts.seen.steps.some((step) => step.state === "finished" && step.name !== name && isOfBoth(step.name));
}

export function bodyOf(id: string, intent: string, made: unknown): string {
  return JSON.stringify({ id, intent, made });
}

/** Who has given its key away, or is past its time, calls nobody any more; nor long after the start that others count from. */
function judgeCall(world: World, { id, record, heldByPerson, starts }: Seen, run: Run, name: string): void {
  const { executionMs, leaseMs } = world.plan;
  const isEnded = isOpen(record) && record.fence === run.fence && record.leaseLeftMs === 0;
  if (isEnded && !heldByPerson) world.violate("step-after-end", `${id}: ${name} on a lease that was ended`);
  const isOver = world.nowMs - run.startedMs > executionMs + leaseMs / 2;
  if (isOver && run.machine.isUntroubled) world.violate("step-past-limit", `${id}: ${name} is called too late`);
  const sinceMs = world.nowMs - (starts.get(`${run.fence} ${name}`) ?? world.nowMs);
  if (sinceMs > acknowledgedMs(world)) {
    world.violate("start-outdated", `${id}: ${name} is called ${sinceMs.toFixed(0)} ms after its start was noted`);
  }
}

export async function runHandler(parts: HandlerParts): Promise<Made> {
  const { world, machine, provider, asked, seen, context } = parts;
  const { route, intent } = asked;
  const attempt = context?.attempt ?? 0;
  const run: Run = {
    id: seen.id,
    intent,
    machine,
    fence: context?.fence ?? -1,
    attempt,
    life: seen.life,
    startedMs: world.nowMs,
    endedMs: undefined,
    kept: undefined,
    isOpen: false,
    isCommitting: false,
    hasGivenBack: false,
    isLeft: false,
    isLost: false,
    branches: 0,
    called: new Set(),
    signal: context?.signal,
  };
  world.runs.push(run);
  world.counts.handlers += 1;
  seen.begun.add(run.fence);
  world.note(`${machine.name} runs ${seen.id} for ${intent}, attempt ${attempt}`);
  const isOwner = (): boolean => isOpen(seen.record) && seen.record.fence === run.fence;
  const hasAnswered = (): boolean => seen.record?.state === "completed" && seen.record.fence === run.fence;

  if (context !== undefined && !isOwner() && !world.plan.leaps) {
    world.violate("handler-on-lost-lease", `${seen.id}: ${machine.name} begins under a lost fence`);
  }

  function requestOf(action: Extract<Action, { provider: unknown }>, reference: string): CallRequest {
    const isTold = action.provider === "tells";
    const isExcused =
      context === undefined ||
      isMadeElsewhere(parts, action) ||
      route.runsWithoutStore ||
      (isTold && (world.plan.leaps || (action.do === "call" && !isOwner())));
    return {
      kind: action.provider,
      intent,
      call: action.name,
      reference,
      key: asked.key,
      life: String(run.life),
      isPromised: !isExcused,
      isDeclined: route.ending === "declined",
    };
  }

  function stepOptions(action: StepAction, reference: string): StepOptions<Charge> {
    const { memory } = world.plan;
    if (action.provider === "forgets" && memory !== undefined) {
      const { remembersMs } = memory;
      const header = "Idempotency-Key";
      return stepOptionsFor({ header, remembersMs, remembers: "answer", visibleAfterMs: visibleAfterMs(world) });
    }
    if (action.policy === "inherited") return {};
    if (action.policy !== "verify") return { onUnknown: action.policy };
    const profile = {
      header: undefined,
      remembersMs: 0,
      remembers: "nothing" as const,
      visibleAfterMs: visibleAfterMs(world),
    };
    return stepOptionsFor<Charge>(profile, () =>
      provider.ask(machine, () => {
        const found = provider.look(reference);
        return found.verdict === "found" ? { verdict: "found", value: { charge: found.charge } } : found;
      }),
    );
  }

  /** In the end a handler keeps within its time. */
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => machine.after(world.isQuiet ? Math.min(ms, world.plan.leaseMs * 0.3) : ms, resolve));

  async function stepOnce(action: StepAction, context: Context): Promise<unknown> {
    const name = stepNameOf(parts, action);
    const options = stepOptions(action, context.reference(name));
    try {
      return await context.step(name, options, (step) => {
        run.called.add(name);
        if (seen.refusedSteps.has(`${run.fence} ${name}`)) {
          world.violate("step-after-refusal", `${seen.id}: ${machine.name} calls ${name} all the same`);
        }
        if (seen.steps.some((each) => each.name === name && each.state === "finished")) {
          world.violate("step-made-again", `${seen.id}: ${machine.name} calls ${name}, whose result is stored`);
        }
        if (run.isOpen) {
          world.violate("step-after-open", `${seen.id}: ${machine.name} calls ${name}, and was told to stop`);
        }
        // A branch may outlast its handler, whose answer ends nothing that had begun before.
        if (!isOwner() && !hasAnswered() && !world.plan.leaps) {
          world.violate("step-on-lost-lease", `${seen.id}: ${machine.name} calls ${name} under a lost fence`);
        }
        judgeCall(world, seen, run, name);
        return provider.call(machine, requestOf(action, step.reference));
      });
    } catch (error) {
      const isStopped = error instanceof OutcomeOpen || error instanceof FenceLost;
      // What outlasts its handler tells itself alone.
      if (isStopped && run.endedMs === undefined && !context.signal.aborted) {
        world.violate("loss-untold", `${seen.id}: ${name} told ${machine.name} to stop, and its signal did not`);
      }
      if (error instanceof FenceLost) run.isLost = true;
      if (error instanceof OutcomeOpen) {
        run.isOpen = true;
        if (error.holdReason !== undefined && seen.releasedByPerson) {
          world.violate("settle-void", `${seen.id}: released by a person, and on hold again: ${error.holdReason}`);
        }
      }
      throw error;
    }
  }

  /** Some handlers try a step again in place, even where they were told to stop. */
  async function step(action: StepAction, context: Context): Promise<unknown> {
    for (const share of world.plan.again?.waits ?? []) {
      const waitMs = share * visibleAfterMs(world);
      try {
        return await stepOnce(action, context);
      } catch {
        world.note(`${machine.name} waits for ${waitMs.toFixed(0)} ms, and tries ${action.name} again in place`);
        await pause(waitMs);
      }
    }
    return stepOnce(action, context);
  }

  async function act(action: Action): Promise<unknown> {
    switch (action.do) {
      case "pause":
        return pause(attempt > 1 ? (action.laterMs ?? action.ms) : action.ms);
      case "call": {
        const reference = context?.reference(action.name) ?? `${asked.key}.${action.name}`;
        return provider.call(machine, requestOf(action, reference));
      }
      case "step":
        return context === undefined
          ? provider.call(machine, requestOf(action, `${asked.key}.${action.name}`))
          : step(action, context);
      case "transaction":
        return undefined;
      case "beside": {
        const branches = action.branches.map(branchOff);
        if (action.isAwaited) return Promise.all(branches);
        for (const each of branches) each.catch(() => undefined);
        return undefined;
      }
    }
  }

  async function branchOff(actions: readonly Action[]): Promise<readonly unknown[]> {
    run.branches += 1;
    try {
      const made: unknown[] = [];
      for (const action of actions) made.push(await act(action));
      return made;
    } finally {
      run.branches -= 1;
    }
  }

  /** Commits a row and the answer together. */
  async function commit(name: string, results: readonly unknown[]): Promise<Made> {
    const body = bodyOf(seen.id, intent, { by: `${machine.name}#${attempt}`, results });
    if (context === undefined) return { status: 201, body };
    const row = { intent, call: name, key: asked.key, life: String(run.life), fence: run.fence };
    try {
      await context.transaction(parts.transactions, async (tx) => {
        await tx.write(row);
        run.isCommitting = true;
        return { status: 201, body: JSON.parse(body) as unknown };
      });
    } finally {
      run.isCommitting = false;
    }
    return "made";
  }

  async function end(ending: Ending, made: unknown): Promise<Made> {
    switch (ending) {
      case "throw":
        throw new Error("the handler fails");
      case "released":
      case "released-throw":
        context?.release();
        run.hasGivenBack = context !== undefined;
        if (ending === "released-throw" || route.via === "run") throw new Error("the handler has done nothing");
        return { status: 409, body: bodyOf(seen.id, intent, "nothing") };
      case "error":
        return { status: 500, body: bodyOf(seen.id, intent, "error") };
      case "busy":
        return { status: 429, body: bodyOf(seen.id, intent, "busy") };
      case "unknown":
        if (context === undefined) return { status: 500, body: bodyOf(seen.id, intent, "error") };
        await context.unknown({ status: 202, body: JSON.parse(bodyOf(seen.id, intent, "interim")) as unknown });
        return "made";
      case "declined":
        return { status: 402, body: bodyOf(seen.id, intent, made) };
      case "created":
        return { status: 201, body: bodyOf(seen.id, intent, made) };
    }
  }

  const early = world.isQuiet ? undefined : route.early[attempt - 1];
  const results: unknown[] = [];
  try {
    for (const [index, action] of route.actions.entries()) {
      if (early?.at === index) return await end(early.ending, results);
      if (action.do === "transaction") return await commit(action.name, results);
      const result = await act(action);
      if (action.do !== "pause") results.push(result);
    }
    if (early !== undefined) return await end(early.ending, results);
    const made = await end(route.ending, { by: `${machine.name}#${attempt}`, results });
    // Who was told to stop has had an answer given for it.
    if (made !== "made" && !run.isOpen && !run.isLeft && !run.isLost) run.kept = made.body;
    return made;
  } catch (error) {
    if (error instanceof CallLost && route.onLostCall !== "throw") {
      return await end(route.onLostCall === "error" || asked.route.via === "run" ? "error" : "unknown", results);
    }
    throw error;
  } finally {
    run.endedMs = world.nowMs;
  }
}
