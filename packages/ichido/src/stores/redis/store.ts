/**
 * The Redis store: at most once while Redis remembers.
 *
 * Promised: every verb on one record is one script on one key, decided by the server that owns it and by its clock, in one
 * round trip (a claim past retention may need two); CROSSSLOT cannot happen. A script writes nothing before it knows that it will write everything, so a server that is
 * full or a replica refuses whole. A record never vanishes under its owner, and has no time to live at all once a step
 * was started, an interim answer kept or a hold put on it.
 *
 * Left out: what Redis forgets (a failover to a replica that lagged, a flush, an eviction, a restart without a log that
 * is synced) runs again when it is asked for again. Fences go on growing, because the clock seeds them, so a zombie of
 * the forgotten record is still stopped; its effect is not undone. For money, keep keys in the database that holds the
 * money.
 *
 * Redis has no index over records: `list` and `stats` walk over all keys, and `sweep` does so in bites.
 *
 * A connection that is dead without saying so keeps a call waiting until `callTimeoutMs`, and the client goes on using
 * it. Let the client notice: `socketTimeout` of ioredis; `socket.socketTimeout` with `pingInterval` of redis, and a
 * `socket.reconnectStrategy` with them, since its own one gives the client up after a socket timeout.
 */
import type { Identity } from "../../core/contract/record.ts";
import type { Store, StoreCapabilities, StoredRecord } from "../../core/contract/store.ts";
import { landedOf } from "../../core/record-machine/owned.ts";
import { recordView } from "../../core/record-machine/view.ts";
import { kindOf, type RedisClient } from "../../drivers/redis/client.ts";
import { linkOf } from "../../drivers/redis/link.ts";
import { listOf, numberOf, textOf } from "../../drivers/redis/reply.ts";
import { createClaims } from "./claim.ts";
import { createHealth } from "./health.ts";
import { list, stats, type Walk } from "./listing.ts";
import { namesFor } from "./names.ts";
import { resolveOptions, type RedisStoreOptions } from "./options.ts";
import { createOwnedVerbs, type OwnedParts } from "./owned.ts";
import { fields, rowOf, stepsOf } from "./row.ts";
import { createScripts } from "./scripts.ts";
import { audit, settle } from "./settle.ts";
import { aloneBy, createSweep } from "./sweep.ts";
import { createTicks } from "./ticks.ts";
import { readPage } from "./walk.ts";
import { createWatcher } from "./watch.ts";

export interface RedisStore extends Store {
  watch(identity: Identity, timeoutMs: number): Promise<void>;
}

const capabilities: StoreCapabilities = {
  durable: true,
  shared: true,
  transactions: false,
  promise:
    "At most once while Redis remembers: an acknowledged write survives a crash of the server with appendonly and " +
    "appendfsync always, and a failover only where the promoted replica had received it.",
};

export function redisStore(client: RedisClient, given: RedisStoreOptions = {}): RedisStore {
  const link = linkOf(kindOf(client));
  const options = resolveOptions(given, link.cluster);
  const { environment, marginMs } = options;
  const margin = String(marginMs);
  const names = namesFor(options.prefix, link.keyPrefix);
  const health = createHealth(link, options.dangerouslyAllowEviction);
  let checking: Promise<void> | undefined;
  let checked = false;
  /** The look is made before the first call, and again after a failure: there may be another server behind the address. */
  const scripts = createScripts({
    link,
    environment,
    callTimeoutMs: options.callTimeoutMs,
    ready: () => (checked ? undefined : check()),
    onFailure: () => void (checked = false),
  });

  function check(): Promise<void> {
    checking ??= scripts
      .repeatAnyway("check", true, {}, () => health.check())
      .then(() => void (checked = true))
      .finally(() => (checking = undefined));
    return checking;
  }

  const ticks = createTicks(scripts, names.clock);
  const walk: Walk = {
    environment,
    timeoutMs: options.scanTimeoutMs,
    page: (place) => scripts.repeat("scan", true, {}, () => readPage(link, names, place)),
  };
  // A sweep goes a page beyond its budget at most: one call for the page, one for what it found.
  const alone = aloneBy(scripts, names.sweeper, 3 * options.callTimeoutMs);
  const sweep = createSweep(walk, ticks, scripts);
  const watcher = createWatcher({
    link,
    names,
    environment,
    notify: options.notify,
    look: async (name) => textOf(await scripts.run("watch", name, [])),
  });

  const owned: OwnedParts = { link, scripts, names, margin, wait: options.wait, wake: (name) => watcher.wake(name) };

  async function find(identity: Identity): Promise<StoredRecord | undefined> {
    const [now, values] = listOf(await scripts.run("find", names.record(identity), [...fields, "b"]));
    const row = rowOf(listOf(values));
    return row === undefined ? undefined : recordView(row, row, numberOf(now));
  }

  return {
    name: "redis",
    capabilities,
    callTimeoutMs: options.callTimeoutMs,

    claim: createClaims(owned, ticks),
    ...createOwnedVerbs(owned),
    // No transaction of Redis can be under way: what is there now is what there is.
    landed: async (request) => landedOf(await find(request.identity), request),
    steps: async (identity) => stepsOf(await scripts.run("steps", names.record(identity), [])),
    async settle(request) {
      const name = names.record(request.identity);
      const result = await settle(scripts, name, request, { margin, channel: names.channel(name) });
      watcher.wake(name);
      return result;
    },
    audit: (identity) => audit(scripts, names.record(identity)),
    find,
    list: (query) => list(walk, query),
    stats: () => stats(walk),
    sweep: alone(sweep),

    tick: (request) => ticks.tick(request),
    async ping() {
      checked = false;
      await scripts.run("ping", names.probe, []);
    },
    watch: (identity, timeoutMs) => watcher.watch(names.record(identity), timeoutMs),
    close: async () => watcher.close(),
  };
}
