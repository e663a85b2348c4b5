/**
 * A key of somebody else, in whatever state, costs the code exactly what a key that nobody ever sent does: the same
 * calls of the store with arguments of the same size, the same statements, the same hashes. No clock is read for that.
 */
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { DatabaseSync } from "node:sqlite";
import { createIchido } from "../../packages/ichido/src/core/engine/create-ichido.ts";
import type { Store } from "../../packages/ichido/src/core/contract/store.ts";
import { memoryStore } from "../../packages/ichido/src/stores/memory/index.ts";
import type { SqliteDatabase } from "../../packages/ichido/src/stores/sqlite/database.ts";
import { sqliteStore } from "../../packages/ichido/src/stores/sqlite/store.ts";
import { ask, giveBack, leave, states, type Caller } from "./foreign-callers.ts";
import { must, type Random, type Target } from "./target.ts";

type Trace = string[];

/** Every hash that is made, by the length of what is hashed. */
function traceHashes(trace: () => Trace | undefined): () => void {
  const { hash, createHash } = crypto;
  crypto.hash = ((algorithm: string, data: string | Uint8Array, ...rest: never[]) => {
    trace()?.push(`${algorithm} of ${data.length}`);
    return (hash as (...args: unknown[]) => unknown)(algorithm, data, ...rest);
  }) as typeof crypto.hash;
  crypto.createHash = ((...args: Parameters<typeof createHash>) => {
    trace()?.push(`createHash ${args[0]}`);
    return createHash(...args);
  }) as typeof createHash;
  syncBuiltinESMExports();
  return () => {
    Object.assign(crypto, { hash, createHash });
    syncBuiltinESMExports();
  };
}

const sizesOf = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) => {
    if (typeof each === "string") return each.length;
    if (each instanceof Uint8Array) return each.length;
    return typeof each === "number" ? "number" : each;
  }) ?? "none";

/** Every call of a store, by the verb and the size of its arguments. */
function traceCalls(store: Store, trace: () => Trace | undefined): Store {
  return new Proxy(store, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      if (typeof member !== "function") return member;
      return (...args: unknown[]): unknown => {
        trace()?.push(`${String(name)} ${sizesOf(args)}`);
        return (member as (...all: unknown[]) => unknown).apply(target, args);
      };
    },
  });
}

/** Every statement that is run, with the sizes of its values. */
function traceStatements(database: DatabaseSync, trace: () => Trace | undefined): SqliteDatabase {
  return {
    exec: (sql) => {
      trace()?.push(sql);
      database.exec(sql);
    },
    prepare(sql) {
      const statement = database.prepare(sql);
      const traced = (values: readonly unknown[]): void => void trace()?.push(`${sql} ${sizesOf(values)}`);
      return {
        get: (...values) => (traced(values), statement.get(...values)),
        all: (...values) => (traced(values), statement.all(...values)),
        run: (...values) => (traced(values), statement.run(...values)),
      };
    },
    get isTransaction() {
      return database.isTransaction;
    },
  };
}

export const foreignKeys: Target = {
  name: "foreign-keys",
  promise: "S13 S14 a key of somebody else takes the same way through code and store as one that nobody ever sent",
  inputs: 500,
  async open() {
    let trace: Trace | undefined;
    const current = (): Trace | undefined => trace;
    const database = new DatabaseSync(":memory:");
    const sqlite = sqliteStore(traceStatements(database, current));
    await sqlite.migrate();
    const stores: readonly Store[] = [memoryStore({ recordsMax: 1_000_000 }), sqlite];
    const engines = stores.map((store) =>
      createIchido<Caller>({
        store: traceCalls(store, current),
        scope: ({ principal }) => ({ principal }),
        onUnknown: "rerun",
        sweepMs: "off",
        // Written later, for all requests alike.
        attemptLog: false,
      }),
    );
    const untrace = traceHashes(current);
    let count = 0;

    /** Asked by a new caller: nothing of theirs is in any cache. */
    async function traced(ichido: (typeof engines)[number], principal: string, key: string): Promise<Trace> {
      const mine: Trace = [];
      trace = mine;
      const decision = await ask(ichido, principal, key).finally(() => (trace = undefined));
      must(decision.kind === "execute", "a key of somebody else is not free", decision.kind);
      await giveBack(decision);
      return mine;
    }

    async function attempt(random: Random): Promise<void> {
      count += 1;
      const ichido = random.pick(engines);
      const state = random.pick(states);
      const number = String(count).padStart(9, "0");
      const execution = await leave(ichido, `taken-${number}`, state, random.bytes(random.int(0, 5_000)));
      const foreign = await traced(ichido, `one-${number}`, `taken-${number}`);
      const unknown = await traced(ichido, `two-${number}`, `never-${number}`);
      must(
        foreign.some((line) => line.startsWith("claim ")),
        "nothing was traced",
        foreign,
      );
      must(foreign.join("\n") === unknown.join("\n"), `a ${state} key shows`, foreign, unknown);
      if (state === "running") await execution.settle({ kind: "threw", error: new Error("ended") });
    }
    return {
      attempt,
      async close() {
        untrace();
        await sqlite.close();
        database.close();
      },
    };
  },
};
