/** Every route × every set of permissions × read-only: nothing is written or revealed that should not be. */
import { beforeAll, expect, test } from "vitest";
import type { Store } from "ichido";
import type { Permission } from "ichido/console";
import type { LetterView, RecordView } from "../../packages/ichido/src/console/contract.ts";
import { lendLink, linkOf } from "../../packages/ichido/src/core/engine/console-link.ts";
import { routes, type Route } from "../../packages/ichido/src/console/routes.ts";
import { type Bed } from "./bed.ts";
import { forEachDatabase } from "./databases.ts";
import { all, visit, type Visitor } from "./visitor.ts";

const subsets: readonly (readonly Permission[])[] = Array.from({ length: 2 ** all.length }, (_, bits) =>
  all.filter((_permission, index) => (bits & (1 << index)) !== 0),
);

/** Verbs that change something. */
const writing = ["note", "settle", "forget"];

interface Watched {
  readonly writes: string[];
  readonly engine: { readonly store: Store; readonly probes: Bed["ichido"]["probes"] };
  readonly outbox: Bed["outbox"];
  readonly inbox: Bed["inbox"];
}

function watching<Part extends object>(part: Part, name: string, verbs: readonly string[], writes: string[]): Part {
  return new Proxy(part, {
    get(target, member) {
      const value: unknown = Reflect.get(target, member, target);
      if (member === "dead") return watching(value as object, `${name}.dead`, ["replay", "discard"], writes);
      if (typeof value !== "function") return value;
      return (...given: readonly unknown[]) => {
        if (verbs.includes(String(member))) writes.push(`${name}.${String(member)}`);
        return (value as (...all: readonly unknown[]) => unknown).apply(target, [...given]);
      };
    },
  });
}

function watched({ ichido, outbox, inbox }: Bed): Watched {
  const writes: string[] = [];
  const engine = { store: watching(ichido.store, "store", writing, writes), probes: ichido.probes };
  // Handles of the engine that is watched are those of the engine itself.
  lendLink(engine, linkOf(ichido));
  return {
    writes,
    engine,
    outbox: watching(outbox, "outbox", ["pause", "resume"], writes),
    inbox: watching(inbox, "inbox", [], writes),
  };
}

interface Seen {
  readonly record: RecordView;
  readonly outbox: LetterView;
  readonly inbox: LetterView;
}

/** What a person who saw all of it would send. Decisions are about something older than it is: allowed, and without effect. */
function bodyFor(path: string, { record, outbox, inbox }: Seen): object | undefined {
  const reason = "ticket 4711";
  const old = { reason, fence: record.fence + 1 };
  const letters = (letter: LetterView) => ({
    reason,
    letters: [{ letter: letter.letter, seen: "old" }],
    count: 1,
    preview: false,
  });
  const bodies: Readonly<Record<string, object>> = {
    "api/keys/{handle}/reveal": { reason, fence: record.fence },
    "api/keys/{handle}/settle": { ...old, decision: "hold" },
    "api/keys/{handle}/forget": old,
    "api/outbox/pause": { reason, seen: "seen" },
    "api/outbox/resume": { reason, seen: "seen" },
    "api/outbox/dead/{letter}/reveal": { reason, seen: outbox.seen },
    "api/outbox/replay": letters(outbox),
    "api/outbox/discard": letters(outbox),
    "api/inbox/dead/{letter}/reveal": { reason, seen: inbox.seen },
    "api/inbox/replay": letters(inbox),
    "api/inbox/discard": letters(inbox),
  };
  return bodies[path];
}

function addressOf({ path }: Route, { record, outbox, inbox }: Seen): string {
  const letter = path.startsWith("api/outbox") ? outbox.letter : inbox.letter;
  const address = path.replace("{handle}", record.handle).replace("{letter}", letter);
  return path === "api/ask" ? `${address}?text=customer%3D42` : address;
}

/** Where it is allowed. Decisions are about what was there before: refused for that, and letter by letter. */
function statusOf({ method, needs, path }: Route): number {
  if (method === "GET" || needs === "reveal") return 200;
  return /(replay|discard)$/.test(path) ? 200 : 409;
}

forEachDatabase("permissions", (bed) => {
  let seen: Seen;
  const secrets = (): readonly string[] => [
    ...Object.values(bed().keys),
    ...bed().contents.map((text) => text.slice(0, 40)),
  ];

  beforeAll(async () => {
    const { outbox, inbox, keys } = bed();
    const visitor = visit(watched(bed()).engine, { outbox, inbox });
    const letterOf = async (side: string): Promise<LetterView> => {
      const { body } = await visitor.get<{ letters: readonly LetterView[] }>(`api/${side}/dead`);
      const [letter] = body.letters;
      if (letter === undefined) throw new Error(`no letter in the ${side}`);
      return letter;
    };
    seen = {
      record: await visitor.recordOf(keys.stuck),
      outbox: await letterOf("outbox"),
      inbox: await letterOf("inbox"),
    };
    visitor.console.close();
  });

  async function send(visitor: Visitor, route: Route) {
    const address = addressOf(route, seen);
    if (route.method === "POST") return visitor.post(address, bodyFor(route.path, seen));
    if (route.path !== "api/live") return visitor.get(address);
    const response = await visitor.console.fetch(new Request(`http://console.test/console/${address}`));
    const text = response.ok ? "" : await response.text();
    if (response.ok) await response.body?.cancel();
    return { status: response.status, text, body: (text === "" ? {} : JSON.parse(text)) as Record<string, unknown> };
  }

  test("every route that writes has a body in this test", () => {
    for (const { method, path } of routes)
      expect([path, bodyFor(path, seen) !== undefined]).toEqual([path, method === "POST"]);
    for (const { method, needs, path } of routes) {
      expect([path, method === "POST" && needs === undefined]).toEqual([path, false]);
      expect([path, method === "POST" && needs === "read"]).toEqual([path, false]);
    }
  });

  test.each([false, true])(
    "what is not permitted answers 403, writes nothing and reveals nothing (read-only: %s)",
    async (readOnly) => {
      const { writes, engine, outbox, inbox } = watched(bed());
      for (const can of subsets) {
        const visitor = visit(engine, { can, readOnly, outbox, inbox });
        for (const route of routes) {
          const what = `${route.method} ${route.path} with ${can.join(",") || "nothing"}`;
          writes.length = 0;
          const { status, text, body } = await send(visitor, route);
          const isPermitted = route.needs === undefined || can.includes(route.needs);
          const isRefused = !isPermitted || (route.method === "POST" && readOnly);
          const code = isPermitted ? "read-only" : "not-permitted";
          if (isRefused) expect([what, status, body["code"], writes]).toEqual([what, 403, code, []]);
          else expect([what, status]).toEqual([what, statusOf(route)]);
          const mayReveal = !isRefused && route.needs === "reveal";
          if (mayReveal) expect([what, secrets().some((secret) => text.includes(secret))]).toEqual([what, true]);
          else expect([what, secrets().filter((secret) => text.includes(secret))]).toEqual([what, []]);
          if (!can.includes("read")) expect([what, text.includes(seen.record.id)]).toEqual([what, false]);
        }
        visitor.console.close();
      }
    },
    120_000,
  );

  test("the records and letters are as they were", async () => {
    const { ichido, outbox, inbox, keys } = bed();
    const visitor = visit(ichido, { outbox, inbox });
    const record = await visitor.recordOf(keys.stuck);
    expect(record.fence).toBe(seen.record.fence);
    expect((await outbox.dead.list()).letters).toHaveLength(1);
    expect((await inbox.dead.list()).letters).toHaveLength(1);
    expect(await outbox.paused()).toBeUndefined();
    visitor.console.close();
  });
});
