/** A person with an intent, at a page that uses ichido's client: presses again when nothing came of it, and reloads. */
import { createClient, type Client } from "../packages/ichido/src/client/client.ts";
import type { Result } from "../packages/ichido/src/client/result.ts";
import type { AttemptStorage } from "../packages/ichido/src/client/storage.ts";
import type { Fleet } from "./fleet.ts";
import type { Machine } from "./machine.ts";
import type { RoutePlan } from "./plan.ts";
import { mixed } from "./random.ts";
import { send } from "./web.ts";
import type { World } from "./world.ts";

export interface Shopper {
  readonly intent: string;
  readonly route: RoutePlan;
  press(): void;
  reload(): void;
  /** The person has seen an outcome. */
  readonly isDone: boolean;
  readonly keys: readonly string[];
}

export function uuidOf(seed: number, ...words: readonly number[]): string {
  const hex = (word: number): string =>
    mixed(seed, ...words, word)
      .toString(16)
      .padStart(8, "0");
  const all = hex(1) + hex(2) + hex(3) + hex(4);
  return `${all.slice(0, 8)}-${all.slice(8, 12)}-4${all.slice(13, 16)}-8${all.slice(17, 20)}-${all.slice(20, 32)}`;
}

function plainAnswer(status: number, text: string): Response {
  const bytes = new TextEncoder().encode(text);
  return { status, headers: new Headers(), url: "", arrayBuffer: async () => bytes.buffer } as unknown as Response;
}

export function createShopper(world: World, fleet: Fleet, number: number): Shopper {
  const { plan } = world;
  const person = plan.persons[number];
  const route = person === undefined ? undefined : plan.routes[person.route];
  if (person === undefined || route === undefined) throw new Error("no such person");
  const { leaseMs } = plan;
  const intent = `cart${number}`;
  const principal = `shopper${number}`;
  const payload = { intent, amount: 100 };
  const items = new Map<string, string>();
  const storage: AttemptStorage = {
    getItem: (name) => items.get(name) ?? null,
    setItem: (name, value) => items.set(name, value),
    removeItem: (name) => items.delete(name),
    lock: (_name, work) => work(),
  };
  const keys: string[] = [];
  let presses = 0;
  let isDone = false;
  let isWaiting = false;
  let machine: Machine;
  let client: Client;

  function fetchBy(page: Machine): typeof globalThis.fetch {
    return async (url, init) => {
      if (typeof url === "string" && url.includes("/.well-known/")) return plainAnswer(404, "no policy");
      const header = new Headers(init?.headers).get("idempotency-key") ?? "";
      const key = header.replaceAll('"', "");
      const content = typeof init?.body === "string" ? init.body : "";
      const number = world.nextRequest();
      const heard = await new Promise<Awaited<ReturnType<typeof send>>>((resolve, reject) => {
        init?.signal?.addEventListener("abort", () => reject(new Error("aborted")));
        send(world, fleet, page, { number, route: route as RoutePlan, key, header, principal, intent, content }).then(
          resolve,
          reject,
        );
      });
      const bytes = new TextEncoder().encode(heard.body);
      const headers = new Headers(heard.headers.map(([name, value]) => [name, value]));
      const isRedirected = heard.by === "gateway" && heard.isRedirected;
      const place = isRedirected ? "http://shop.test/login" : `http://shop.test/${(route as RoutePlan).operation}`;
      return {
        status: heard.status,
        statusText: "",
        ok: heard.status < 300,
        url: place,
        redirected: isRedirected,
        type: "basic",
        headers,
        arrayBuffer: async () => bytes.buffer,
      } as unknown as Response;
    };
  }

  function open(): void {
    machine = world.newMachine("page", { drifts: false });
    const page = machine;
    client = createClient({
      baseUrl: "http://shop.test",
      fetch: fetchBy(page),
      storage,
      keys: () => {
        const key = uuidOf(plan.seed, 1_000 + number, keys.length);
        keys.push(key);
        return key;
      },
      clock: {
        nowMs: () => page.wallMs(),
        elapsedMs: () => page.monotonicMs(),
        random: () => page.random.next(),
        sleep: (ms) => new Promise<void>((resolve) => page.after(ms, resolve)),
      },
      retry: {
        triesMax: 4,
        deadlineMs: Math.ceil(leaseMs * 8 + 4_000),
        callTimeoutMs: Math.ceil(leaseMs * 1.5),
        backoffMs: Math.ceil(leaseMs * 0.1),
        backoffMsMax: Math.ceil(leaseMs),
      },
      onWarning: () => undefined,
    });
  }

  function judge(result: Result): void {
    const text = result.kind === "unknown" ? "" : result.answer.text();
    const isOurs = text.includes(`"intent":${JSON.stringify(intent)}`);
    world.note(
      `${machine.name} is told ${result.kind}${result.kind === "unknown" ? ` (${result.reason})` : ""} after ${result.tries}`,
    );
    const isError = result.kind === "done" && result.answer.status >= 400;
    if (isError && result.problem?.code !== "response-not-stored") {
      world.violate("client-done-untrue", `${intent}: done by ${result.answer.status}`);
    }
    if (result.kind === "done" && !isOurs && result.problem === undefined) {
      world.violate("client-done-untrue", `${intent}: done by ${text}`);
    }
    const isDeclined = isOurs || (result.kind === "declined" && (result.problem?.originalStatus ?? 0) >= 400);
    if (result.kind === "declined" && !result.keyKept && !isDeclined) {
      const effect = world.effects.find((each) => each.intent === intent);
      if (effect !== undefined)
        world.violate("client-declined-untrue", `${intent}: declined by ${text}, effect ${effect.number}`);
    }
  }

  async function pressed(): Promise<void> {
    const page = machine;
    const attempt = await client.createAttempt(intent, payload);
    const result = await client.post(`/${(route as RoutePlan).operation}`, { attempt, json: payload });
    judge(result);
    // It is on the page; the person sees it a little later, unless the page goes away first.
    await new Promise<void>((resolve) => page.after(leaseMs * page.random.between(0, 0.5), resolve));
    isWaiting = false;
    const isOurs = result.kind !== "unknown" && result.answer.text().includes(intent);
    if (isOurs && (result.kind === "done" || result.kind === "declined")) isDone = true;
    else page.after(leaseMs * page.random.between(0.2, 1.5), press);
  }

  function press(): void {
    if (isDone || isWaiting || presses >= (person?.pressesMax ?? 0) + (world.isQuiet ? 20 : 0)) return;
    presses += 1;
    isWaiting = true;
    world.note(`${machine.name}: the person presses for ${intent}`);
    machine.deliver("reply", () => {
      pressed().catch((error: unknown) => world.violate("client-failed", `${intent}: ${String(error)}`));
    });
  }

  open();
  return {
    intent,
    route,
    keys,
    get isDone() {
      return isDone;
    },
    press,
    reload() {
      if (isDone) return;
      world.note(`${machine.name}: the page is reloaded`);
      machine.kill();
      open();
      isWaiting = false;
      if (presses > 0) machine.after(leaseMs * machine.random.between(0.05, 1), press);
    },
  };
}
