/** A server whose disk can be full. Some end themselves when there is no room for their log, and are started again. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Instance } from "../../scripts/services/instance.ts";
import { isAlive } from "../../scripts/services/process-tree.ts";
import type { Backend } from "./backend.ts";
import type { Shim } from "./shimmed-server.ts";

/** A server that has lost what it was writing says so before it ends. */
const endsMs = 300;

export function fillable(server: Instance, shim: Shim): Required<Pick<Backend, "full" | "refused">> {
  return {
    refused: () => shim.refused(),
    async full(on) {
      shim.fill(on);
      if (on) return;
      await sleep(endsMs);
      if (!isAlive(server.pid)) await server.restart();
    },
  };
}
