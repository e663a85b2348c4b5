/**
 * Names that every object has already, wherever a caller or a handler may put a name: members of inputs and results,
 * labels, scope parts, operations, keys, steps. They are names like any other, and nothing leaks into all objects.
 */
import { DatabaseSync } from "node:sqlite";
import canonicalize from "canonicalize";
import type { Store } from "../../packages/ichido/src/core/contract/store.ts";
import { isIchidoError } from "../../packages/ichido/src/core/contract/errors.ts";
import { createIchido } from "../../packages/ichido/src/core/engine/create-ichido.ts";
import { decodeHeaders, decodeLabels, encodeLabels } from "../../packages/ichido/src/stores/encoding.ts";
import { memoryStore } from "../../packages/ichido/src/stores/memory/index.ts";
import { sqliteStore } from "../../packages/ichido/src/stores/sqlite/store.ts";
import { inheritedNames, listOf } from "./draw.ts";
import { Broken, must, type Random, type Target } from "./target.ts";

const sides = [
  Object.prototype,
  Array.prototype,
  Function.prototype,
  String.prototype,
  Promise.prototype,
  Map.prototype,
];
const shapeOf = (): string => sides.map((side) => Reflect.ownKeys(side).length).join();

/** As a parser of JSON makes them: own members, whatever their names. */
function drawMembers(random: Random, depth: number): Record<string, unknown> {
  const inside = (): unknown => (depth > 0 && random.chance(0.5) ? drawMembers(random, depth - 1) : random.int(0, 3));
  const pairs = listOf(
    random,
    3,
    () => [random.chance(0.2) ? "polluted" : random.pick(inheritedNames), inside()] as const,
  );
  return JSON.parse(
    `{${pairs.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(",")}}`,
  ) as Record<string, unknown>;
}

function drawLabels(random: Random): Record<string, string> {
  return Object.fromEntries(
    listOf(random, 3, () => [random.pick(inheritedNames), random.pick(["a", "b", "__proto__"])]),
  );
}

interface Known {
  readonly input: string;
  readonly value: string;
  readonly labels: string;
}

const sorted = (labels: Readonly<Record<string, string>>): string => canonicalize(labels) ?? "";

async function openStores(): Promise<{ readonly stores: readonly Store[]; readonly close: () => Promise<void> }> {
  const database = new DatabaseSync(":memory:");
  const sqlite = sqliteStore(database);
  await sqlite.migrate();
  const stores = [memoryStore({ scopeShareMax: 1 }), sqlite];
  return {
    stores,
    async close() {
      await sqlite.close();
      database.close();
    },
  };
}

export const inheritedNamesEverywhere: Target = {
  name: "inherited-names",
  promise: "S8 A13 __proto__, constructor and the like are names as any other, and no object gains a member by them",
  inputs: 1_500,
  async open() {
    const before = shapeOf();
    const { stores, close } = await openStores();
    const engines = stores.map((store) => ({
      store,
      ichido: createIchido<unknown>({ store, scope: () => ({ principal: "me" }), onUnknown: "rerun", sweepMs: "off" }),
      known: new Map<string, Known>(),
    }));

    async function attempt(random: Random): Promise<void> {
      const { store, ichido, known } = random.pick(engines);
      const name = (): string => random.pick(inheritedNames);
      const scope = { tenant: name(), principal: name() };
      const [operation, key, step] = [name(), name(), name()];
      const [input, value, labels] = [drawMembers(random, 2), drawMembers(random, 2), drawLabels(random)];
      const id = JSON.stringify([scope, operation, key]);
      const former = known.get(id);
      const stepped = drawMembers(random, 1);
      let seen: unknown;
      const result = await ichido
        .run({ operation, scope, key, input, labels }, async (context) => {
          seen = await context.step(step, () => stepped);
          return value;
        })
        .catch((error: unknown) => error);
      must(shapeOf() === before && !("polluted" in {}), "an object gained a member", input, labels);
      if (result instanceof Error) {
        must(isIchidoError(result) && result.code === "idempotency-key-reused", "an odd error", result, input, value);
        must(former !== undefined && former.input !== canonicalize(input), "refused though it is the same", input);
        return;
      }
      const { replayed, value: got } = result as { replayed: boolean; value: unknown };
      must(replayed === (former !== undefined), "run and remembered, or neither", id);
      const expected = former ?? {
        input: canonicalize(input) ?? "",
        value: canonicalize(value) ?? "",
        labels: sorted(labels),
      };
      must(canonicalize(got) === expected.value && expected.input === canonicalize(input), "another value", value, got);
      if (!replayed) must(canonicalize(seen) === canonicalize(stepped), "another result of the step", stepped, seen);
      known.set(id, expected);
      await isListed(store, { ...scope, operation, key }, expected, random);
    }
    return { attempt, close };
  },
};

async function isListed(
  store: Store,
  whose: { readonly tenant: string; readonly principal: string; readonly operation: string; readonly key: string },
  expected: Known,
  random: Random,
): Promise<void> {
  const { records } = await store.list({ ...whose, limit: 2 });
  const [record] = records;
  must(records.length === 1 && record !== undefined, "not listed once", whose);
  must(sorted(record.labels) === expected.labels, "other labels", record.labels, expected.labels);
  const label = { name: random.pick(inheritedNames), value: "a" };
  const found = await store.list({ ...whose, label, limit: 2 });
  const isLabelled = Object.hasOwn(record.labels, label.name) && record.labels[label.name] === "a";
  must(found.records.length === (isLabelled ? 1 : 0), "found by a label that it does not have", record.labels, label);
}

/** Texts of rows, decoded: what they hold, or a `TypeError`. */
export const storedTexts: Target = {
  name: "stored-texts",
  promise: "S8 stored lines and labels are what they were, or damaged: no text of a row makes anything else of them",
  inputs: 15_000,
  open: () => {
    const before = shapeOf();
    return {
      attempt(random) {
        const labels = drawLabels(random);
        const text = encodeLabels(labels);
        must(sorted(decodeLabels(text)) === sorted(labels), "other labels", labels, text);
        const json = JSON.stringify(drawMembers(random, 2));
        const cut = json.slice(0, random.int(0, json.length));
        const lines = JSON.stringify(
          listOf(random, 3, () => listOf(random, 3, () => random.pick<unknown>(["a", 1, null, "__proto__"]))),
        );
        for (const [decode, given] of [
          [decodeLabels, json],
          [decodeLabels, cut],
          [decodeHeaders, lines],
          [decodeHeaders, json],
        ] as const) {
          try {
            const decoded = decode(given);
            const again = JSON.parse(given) as object;
            must(canonicalize(decoded) === canonicalize(again), "something else", given, decoded);
            const parts = Array.isArray(decoded) ? decoded.flat() : Object.values(decoded);
            must(
              parts.every((part) => typeof part === "string"),
              "parts that are no text",
              given,
              decoded,
            );
          } catch (error) {
            if (error instanceof Broken) throw error;
            must(error instanceof TypeError, "not told as damage", error, given);
          }
        }
        must(shapeOf() === before, "an object gained a member", json);
      },
    };
  },
};
