/**
 * Keeps what people look at from standing in the way of requests: few calls at once, each with a deadline. A call keeps
 * its place until it has really ended, so that slow ones cannot pile up behind their deadlines. A driver that gave up is
 * not the end: its server may be at work still. A place whose call failed slowly stays taken for a while, for longer the
 * more often that happens in a row.
 */
import { DeadlineExceeded, withDeadline } from "../core/contract/deadline.ts";
import { systemEnvironment } from "../core/contract/environment.ts";
import { isIchidoError } from "../core/contract/errors.ts";
import type { Store } from "../core/contract/store.ts";
import { Problem } from "./problem.ts";

const queueMax = 500;
/** A failure after this part of the deadline is one of a server that may be at work still. */
const slowShare = 0.2;
const heldTimes = 10;
const heldMsMax = 300_000;
const doublingsMax = 5;

export type Gate = <Value>(call: () => Promise<Value>) => Promise<Value>;

/** A driver's own words may quote a key or a body: they are not told. */
export function storeProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof DeadlineExceeded)
    return new Problem("timeout", "the store did not answer in time; ask for less, or again later");
  if (isIchidoError(error)) {
    if (error.code === "option-invalid") return new Problem("parameter", error.message);
    return new Problem("store", `${error.code}: the store refused; Doctor tells more`);
  }
  const { name, code } = Object(error) as { readonly name?: unknown; readonly code?: unknown };
  const what = [name, code].filter((word) => typeof word === "string").join(" ");
  return new Problem("store", `the store failed (${what}); Doctor tells more`);
}

export function createGate(atOnceMax: number, timeoutMs: number): Gate {
  let atWork = 0;
  let slowFailures = 0;
  const waiting: (() => void)[] = [];

  /** A place is handed on, so that who came first goes first. */
  function leave(): void {
    const next = waiting.shift();
    if (next === undefined) atWork -= 1;
    else next();
  }

  async function enter(): Promise<void> {
    if (atWork < atOnceMax) {
      atWork += 1;
      return;
    }
    if (waiting.length >= queueMax) throw new Problem("busy", "too many questions at once; ask again in a moment");
    await new Promise<void>((resolve) => void waiting.push(resolve));
  }

  async function inPlace<Value>(call: () => Promise<Value>): Promise<Value> {
    const startedMs = performance.now();
    try {
      const value = await call();
      slowFailures = 0;
      leave();
      return value;
    } catch (error) {
      const tookMs = performance.now() - startedMs;
      if (tookMs < timeoutMs * slowShare) leave();
      else {
        setTimeout(leave, Math.min(heldMsMax, tookMs * heldTimes * 2 ** Math.min(slowFailures, doublingsMax))).unref();
        slowFailures += 1;
      }
      throw error;
    }
  }

  return async (call) => {
    let isOver = false;
    try {
      return await withDeadline(systemEnvironment, timeoutMs, async () => {
        await enter();
        if (isOver) {
          leave();
          throw new DeadlineExceeded("nobody waits for it any more");
        }
        return inPlace(call);
      });
    } finally {
      isOver = true;
    }
  };
}

/** Verbs that a console calls by itself; decisions go through the engine's own calls. */
const verbs: ReadonlySet<string | symbol> = new Set<keyof Store | "plan" | "drift">([
  "find",
  "list",
  "stats",
  "steps",
  "resources",
  "attempts",
  "follow",
  "twins",
  "suspects",
  "audit",
  "auditLog",
  "note",
  "ping",
  "inspect",
  "engines",
  "plan",
  "drift",
]);

/** The store, every call of it behind the gate. */
export function gatedStore(store: Store, gate: Gate): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      if (!verbs.has(name)) throw new TypeError(`a console does not call ${String(name)}`);
      return (...given: readonly unknown[]) =>
        gate(async () => (member as (...all: readonly unknown[]) => unknown).call(target, ...given));
    },
  });
}
