/** A person with an intent, at a page that uses ichido's client: presses again when nothing came of it, and reloads. */
import { createClient, type Client } from "../packages/ichido/src/client/client.ts";
import { ClientError } from "../packages/ichido/src/client/errors.ts";
import type { Result } from "../packages/ichido/src/client/result.ts";
import type { AttemptStorage } from "../packages/ichido/src/client/storage.ts";
import type { Fleet } from "./fleet.ts";
import { createKept } from "./kept-keys.ts";
import type { Machine } from "./machine.ts";
import type { RoutePlan } from "./plan.ts";
import { mixed } from "./random.ts";
import { send } from "./web.ts";
import type { World } from "./world.ts";

export interface Shopper {
  press(): void;
  /** In another tab, which has the same storage. */
  pressElsewhere(): void;
  reload(): void;
  /** From here on the person wants something else. */
  edit(): void;
  /** The storage takes nothing new. */
  fillUp(forMs: number): void;
}

interface Page {
  readonly machine: Machine;
  readonly client: Client;
  isWaiting: boolean;
  /** Requests that it has sent. */
  sends: number;
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
  const name = `cart${number}`;
  const principal = `shopper${number}`;
  const kept = createKept(world, name);
  const items = new Map<string, string>();
  let fullUntilMs = 0;
  const storage: AttemptStorage = {
    getItem: (place) => items.get(place) ?? null,
    setItem: (place, value) => {
      if (world.nowMs < fullUntilMs) throw new Error("the storage is full");
      items.set(place, value);
    },
    removeItem: (place) => items.delete(place),
    lock: (_place, work) => work(),
  };
  let made = 0;
  let presses = 0;
  /** What the person wants, and what was pressed for last. */
  let intent = name;
  let pressedFor = name;
  let isDone = false;
  let page: Page;
  let other: Page | undefined;

  function fetchBy(sender: () => Page): typeof globalThis.fetch {
    return async (url, init) => {
      if (typeof url === "string" && url.includes("/.well-known/")) return plainAnswer(404, "no policy");
      const from = sender();
      from.sends += 1;
      const header = new Headers(init?.headers).get("idempotency-key") ?? "";
      const key = header.replaceAll('"', "");
      const content = typeof init?.body === "string" ? init.body : "";
      const { intent: asked } = JSON.parse(content) as { readonly intent: string };
      kept.sent(key, asked);
      const request = { number: world.nextRequest(), route: route as RoutePlan, key, header, principal, content };
      const heard = await new Promise<Awaited<ReturnType<typeof send>>>((resolve, reject) => {
        init?.signal?.addEventListener("abort", () => reject(new Error("aborted")));
        send(world, fleet, from.machine, { ...request, intent: asked }).then(resolve, reject);
      });
      const bytes = new TextEncoder().encode(heard.body);
      const headers = new Headers(heard.headers.map(([line, value]) => [line, value]));
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

  function open(): Page {
    const machine = world.newMachine("page", { drifts: false });
    const client = createClient({
      baseUrl: "http://shop.test",
      fetch: fetchBy(() => opened),
      storage,
      keys: () => {
        made += 1;
        return uuidOf(plan.seed, 1_000 + number, made - 1);
      },
      clock: {
        nowMs: () => machine.wallMs(),
        elapsedMs: () => machine.monotonicMs(),
        random: () => machine.random.next(),
        sleep: (ms) => new Promise<void>((resolve) => machine.after(ms, resolve)),
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
    const opened: Page = { machine, client, isWaiting: false, sends: 0 };
    return opened;
  }

  function judge({ machine }: Page, wanted: string, result: Result): void {
    const text = result.kind === "unknown" ? "" : result.answer.text();
    const isOurs = text.includes(`"intent":${JSON.stringify(wanted)}`);
    world.note(
      `${machine.name} is told ${result.kind}${result.kind === "unknown" ? ` (${result.reason})` : ""} after ${result.tries}`,
    );
    kept.told(wanted, result);
    const isError = result.kind === "done" && result.answer.status >= 400;
    if (isError && result.problem?.code !== "response-not-stored") {
      world.violate("client-done-untrue", `${wanted}: done by ${result.answer.status}`);
    }
    if (result.kind === "done" && !isOurs && result.problem === undefined) {
      world.violate("client-done-untrue", `${wanted}: done by ${text}`);
    }
    const isDeclined = isOurs || (result.kind === "declined" && (result.problem?.originalStatus ?? 0) >= 400);
    if (result.kind === "declined" && !result.keyKept && !isDeclined) {
      const effect = world.effects.find((each) => each.intent === wanted);
      if (effect !== undefined)
        world.violate("client-declined-untrue", `${wanted}: declined by ${text}, effect ${effect.number}`);
    }
  }

  /** Undefined: the client would not send it. */
  async function sent(on: Page, wanted: string): Promise<Result | undefined> {
    const payload = { intent: wanted, amount: 100 };
    const before = on.sends;
    try {
      const attempt = await on.client.createAttempt(name, payload);
      kept.created(attempt.key, wanted);
      pressedFor = wanted;
      return await on.client.post(`/${(route as RoutePlan).operation}`, { attempt, json: payload });
    } catch (error) {
      const code = error instanceof ClientError ? error.code : undefined;
      if (code !== "attempt-changed" && code !== "storage-failed") throw error;
      world.note(`${on.machine.name} is refused ${wanted}: ${code}`);
      if (on.sends > before) world.violate("client-sent-unkept", `${wanted}: sent, and then refused as ${code}`);
      // What was sent before goes first: the person wants that for now.
      if (code === "attempt-changed") intent = pressedFor;
      return undefined;
    }
  }

  async function pressed(on: Page): Promise<void> {
    const { machine } = on;
    const wanted = intent;
    const result = await sent(on, wanted);
    if (result !== undefined) judge(on, wanted, result);
    // It is on the page; the person sees it a little later, unless the page goes away first.
    await new Promise<void>((resolve) => machine.after(leaseMs * machine.random.between(0, 0.5), resolve));
    on.isWaiting = false;
    const isKnown = result?.kind === "done" || result?.kind === "declined";
    const isOurs = isKnown && result.answer.text().includes(JSON.stringify(wanted));
    if (isOurs && wanted === intent) isDone = true;
    else machine.after(leaseMs * machine.random.between(0.2, 1.5), () => press(on));
  }

  function press(on: Page): void {
    if (isDone || on.isWaiting) return;
    pressAnyhow(on);
  }

  function pressAnyhow(on: Page): void {
    if (presses >= (person?.pressesMax ?? 0) + (world.isQuiet ? 20 : 0)) return;
    presses += 1;
    on.isWaiting = true;
    world.note(`${on.machine.name}: the person presses for ${intent}`);
    on.machine.deliver("reply", () => {
      pressed(on).catch((error: unknown) => world.violate("client-failed", `${intent}: ${String(error)}`));
    });
  }

  page = open();
  return {
    press: () => press(page),
    pressElsewhere() {
      other ??= open();
      if (!other.isWaiting) pressAnyhow(other);
    },
    reload() {
      if (isDone) return;
      world.note(`${page.machine.name}: the page is reloaded`);
      page.machine.kill();
      page = open();
      const { machine } = page;
      const reloaded = page;
      if (presses > 0) machine.after(leaseMs * machine.random.between(0.05, 1), () => press(reloaded));
    },
    edit() {
      world.note(`${name}: the cart is changed`);
      intent = `${name} changed`;
      isDone = false;
      press(page);
    },
    fillUp(forMs) {
      world.note(`${name}: nothing new is kept for ${forMs.toFixed(0)} ms`);
      fullUntilMs = world.nowMs + forMs;
    },
  };
}
