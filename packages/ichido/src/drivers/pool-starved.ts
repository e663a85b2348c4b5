/** Warns once per store: a renewal waits for a connection of a pool that the program's own transactions hold. */
export function poolStarved(store: string): () => void {
  let told = false;
  return () => {
    if (told) return;
    told = true;
    process.emitWarning(
      `the ${store} store's heartbeat waits for a connection: all of the pool are in use, so that leases may be lost while ` +
        "their owners are at work. Make the pool larger than the transactions at once, or give the store a pool of its own.",
      { type: "IchidoWarning", code: "pool-starved" },
    );
  };
}

/** The store warns of a renewal that has waited this long for a connection. */
export const starvedMs = 500;

/**
 * A renewal that has waited this long goes over a connection of the store's own. Short beside a third of any usual lease,
 * which is all the time that a renewal has; being wrong costs one connection.
 */
export const patienceMs = 50;
