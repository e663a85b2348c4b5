/** Decisions take one of the console's few places at the store, too. */
import { setTimeout as sleep } from "node:timers/promises";
import { createIchido, type Store } from "ichido";
import { memoryStore } from "ichido/memory";
import { expect, test } from "vitest";
import { visit } from "./visitor.ts";

const scope = { principal: "p" };
const keys = Array.from({ length: 6 }, (_, at) => `key-number-${at}`);

/** The store itself, a little slower, and how many decisions it had at once. */
function counted(store: Store): { readonly slow: Store; readonly atOnce: () => number } {
  let [now, most] = [0, 0];
  const slow = new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (name !== "settle" && name !== "forget") return member;
      return async (request: never) => {
        most = Math.max(most, (now += 1));
        await sleep(20);
        const result: unknown = await target[name](request);
        now -= 1;
        return result;
      };
    },
  });
  return { slow, atOnce: () => most };
}

test.each(["settle", "forget"] as const)("no more than callsMax of %s reach the store at once", async (verb) => {
  const store = memoryStore();
  const ichido = createIchido({ store, scope: () => scope, onUnknown: "hold" });
  const failing = (): Promise<never> => Promise.reject(new Error("no answer"));
  for (const key of keys)
    await ichido.run({ operation: "pay", scope, key }, verb === "settle" ? failing : () => 1).catch(() => undefined);
  const { slow, atOnce } = counted(store);
  const visitor = visit({ store: slow }, { callsMax: 2 });
  const records = await Promise.all(keys.map((key) => visitor.recordOf(key)));
  const decided = await Promise.all(
    records.map(({ handle, fence, updatedAt }) => {
      const body = { fence, reason: "ticket 1", ...(verb === "settle" && { decision: "hold", updatedAt }) };
      return visitor.post(`api/keys/${handle}/${verb}`, body);
    }),
  );
  expect(decided.map(({ status }) => status)).toEqual(keys.map(() => 200));
  expect(atOnce()).toBe(2);
  visitor.console.close();
  await ichido.close();
});
