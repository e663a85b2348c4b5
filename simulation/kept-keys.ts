/** What a client keeps of the keys of one intent, held against what it sent and what it told. */
import type { Result } from "../packages/ichido/src/client/result.ts";
import type { World } from "./world.ts";

export interface KeptKeys {
  /** An attempt is about to be sent. */
  created(key: string, intent: string): void;
  sent(key: string, intent: string): void;
  told(intent: string, result: Result): void;
}

export function createKept(world: World, name: string): KeptKeys {
  /** Keys that were sent, with what for, until their outcome is told. */
  const open = new Map<string, string>();
  /** Keys that were told to be used up, and those under which it was done: another tab may still send them. */
  const gone = new Set<string>();
  const done = new Set<string>();
  return {
    created(key, intent) {
      const [left] = [...open.values()].filter((each) => each !== intent);
      if (left !== undefined) {
        world.violate("client-left-open", `${name}: ${intent} is begun while nobody knows what became of ${left}`);
      }
      if (gone.has(key)) world.violate("client-key-again", `${name}: ${key} was used up, and is used again`);
    },
    sent(key, intent) {
      if (!gone.has(key) && !done.has(key)) open.set(key, intent);
    },
    told(intent, result) {
      if (result.kind === "unknown") return;
      open.delete(result.key);
      if (result.kind === "done") done.add(result.key);
      if (result.kind === "declined" && !result.keyKept) gone.add(result.key);
      if (result.problem?.code === "idempotency-key-reused") {
        world.violate("client-key-reused", `${name}: ${intent} was sent by the key of something else`);
      }
    },
  };
}
