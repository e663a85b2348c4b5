/** Where attempts outlive a reload. Anything with `getItem` and `setItem` will do: Web Storage, a file, a cache. */
export interface AttemptStorage {
  getItem(name: string): string | null | undefined | Promise<string | null | undefined>;
  setItem(name: string, value: string): unknown;
  removeItem(name: string): unknown;
  /** For a storage that is shared without Web Locks: no other process changes the item while `work` runs. */
  lock?<T>(name: string, work: () => Promise<T>): Promise<T>;
}

export function memoryStorage(): AttemptStorage {
  const items = new Map<string, string>();
  return {
    getItem: (name) => items.get(name),
    setItem: (name, value) => items.set(name, value),
    removeItem: (name) => items.delete(name),
  };
}

function webStorage(name: "sessionStorage" | "localStorage"): AttemptStorage {
  try {
    const storage = globalThis[name];
    storage.setItem("ichido:probe", "1");
    storage.removeItem("ichido:probe");
    return storage;
  } catch {
    // There is none outside browsers; private windows and full storages refuse. The attempt then lives as long as the
    // page.
    return memoryStorage();
  }
}

/** One tab, across reloads. Memory where there is none. */
export function tabStorage(): AttemptStorage {
  return webStorage("sessionStorage");
}

/** All tabs of the origin, across restarts of the browser. Making an attempt is then guarded by a Web Lock. */
export function browserStorage(): AttemptStorage {
  return webStorage("localStorage");
}

interface LockManagerLike {
  request<T>(name: string, callback: () => Promise<T>): Promise<T>;
}

const queues = new Map<string, Promise<unknown>>();

/** By the storage's own lock where it has one, between tabs where the browser has Web Locks, within the page always. */
export function withLock<T>(storage: AttemptStorage, name: string, work: () => Promise<T>): Promise<T> {
  const locks = (globalThis as { navigator?: { locks?: LockManagerLike } }).navigator?.locks;
  let hasBegun = false;
  const begin = (): Promise<T> => {
    hasBegun = true;
    return work();
  };
  const guarded = async (): Promise<T> => {
    try {
      if (storage.lock !== undefined) return await storage.lock(name, begin);
      if (locks !== undefined) return await locks.request(name, begin);
    } catch (error) {
      // A sandboxed frame may not use Web Locks; it shares its storage with no other page either.
      if (hasBegun || storage.lock !== undefined) throw error;
    }
    return begin();
  };
  const result = (queues.get(name) ?? Promise.resolve()).then(guarded);
  const settled: Promise<void> = result
    .catch(() => undefined)
    .then(() => {
      if (queues.get(name) === settled) queues.delete(name);
    });
  queues.set(name, settled);
  return result;
}
