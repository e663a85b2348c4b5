/**
 * Points at which a handler waits until the test lets it go on: the test arranges races and does not depend on chance.
 */
export interface Gates {
  /** For the handler: reports that it has come to the gate, and waits. */
  pass(name: string): Promise<void>;
  /** For the test: resolves when that many handlers have come to the gate. */
  reached(name: string, count?: number): Promise<void>;
  /** Lets all handlers through, now and later. */
  open(name: string): void;
  openAll(): void;
}

interface Gate {
  arrived: number;
  readonly watchers: Set<() => void>;
  readonly opened: PromiseWithResolvers<void>;
}

const reachedMs = 20_000;

export function createGates(): Gates {
  const gates = new Map<string, Gate>();

  function gateOf(name: string): Gate {
    let gate = gates.get(name);
    if (gate === undefined) {
      gate = { arrived: 0, watchers: new Set(), opened: Promise.withResolvers() };
      gates.set(name, gate);
    }
    return gate;
  }

  return {
    async pass(name) {
      const gate = gateOf(name);
      gate.arrived += 1;
      for (const watcher of gate.watchers) watcher();
      await gate.opened.promise;
    },
    reached(name, count = 1) {
      const gate = gateOf(name);
      return new Promise((resolve, reject) => {
        const timer = setTimeout(
          () => reject(new Error(`gate ${name}: ${gate.arrived} of ${count} came within ${reachedMs} ms`)),
          reachedMs,
        );
        const look = (): void => {
          if (gate.arrived < count) return;
          gate.watchers.delete(look);
          clearTimeout(timer);
          resolve();
        };
        gate.watchers.add(look);
        look();
      });
    },
    open: (name) => gateOf(name).opened.resolve(),
    openAll() {
      for (const gate of gates.values()) gate.opened.resolve();
    },
  };
}
