import { fakeClock, storeSuite } from "ichido/testing";
import { memoryStore } from "ichido/memory";
import { describe, it } from "vitest";

storeSuite(
  { describe, it },
  {
    name: "memory",
    movesClock: true,
    watches: true,
    async open() {
      const clock = fakeClock();
      const store = memoryStore({ nowMs: clock.nowMs });
      return {
        store,
        clock: { advanceMs: (ms) => clock.stepWall(ms) },
        close: () => store.close(),
      };
    },
  },
);

storeSuite(
  { describe, it },
  {
    name: "memory by the system's clock",
    watches: true,
    async open() {
      const store = memoryStore();
      return { store, close: () => store.close() };
    },
  },
);
