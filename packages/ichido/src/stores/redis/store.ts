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
 * Labels and resources have an index each, a key beside their records. Of all records there is none: any other `list`, and
 * `stats`, walk over all keys, and `sweep` does so in bites.
 *
 * A connection that is dead without saying so keeps a call waiting until `callTimeoutMs`, and the client goes on using
 * it. Let the client notice: `socketTimeout` of ioredis; `socket.socketTimeout` with `pingInterval` of redis, and a
 * `socket.reconnectStrategy` with them, since its own one gives the client up after a socket timeout.
 */
import { withDeadline } from "../../core/contract/deadline.ts";
import { limits } from "../../core/contract/defaults.ts";
import type { AuditNote, Resource } from "../../core/contract/history.ts";
import type { Identity } from "../../core/contract/record.ts";
import type { Claim, Fenced, Store, StoreCapabilities, StoredRecord } from "../../core/contract/store.ts";
import { landedOf } from "../../core/record-machine/owned.ts";
import { recordView, retentionLeftMs } from "../../core/record-machine/view.ts";
import { kindOf, type RedisClient } from "../../drivers/redis/client.ts";
import { linkOf } from "../../drivers/redis/link.ts";
import { listOf, numberOf, textOf } from "../../drivers/redis/reply.ts";
import { createClaims } from "./claim.ts";
import { emptyReasons, forget } from "./forget.ts";
import { createHealth } from "./health.ts";
import { auditMax, createHistory } from "./history.ts";
import { createIndex } from "./index-of-records.ts";
import { createInspection } from "./inspection.ts";
import { list, stats, type Walk } from "./listing.ts";
import { namesFor } from "./names.ts";
import { resolveOptions, type RedisStoreOptions } from "./options.ts";
import { createOwnedVerbs, type OwnedParts } from "./owned.ts";
import { decodeResource, encodeAudit, encodeResource, fields, rowOf, stepsOf, type Row } from "./row.ts";
import { createScripts } from "./scripts.ts";
import { audit, settle } from "./settle.ts";
import { aloneBy, createSweep, type Afterwards } from "./sweep.ts";
import { createTicks } from "./ticks.ts";
import { createUnindexed } from "./unindexed.ts";
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

/** Of the time of a call, what it may take to note what it tells. */
const tellingPart = 8;
/** Decisions that the journal has yet to hear of. */
const unnotedMax = 1_000;

export function redisStore(client: RedisClient, given: RedisStoreOptions = {}): RedisStore {
  const driven = kindOf(client);
  const link = linkOf(driven);
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
  const watcher = createWatcher({
    link,
    names,
    environment,
    notify: options.notify,
    look: async (name) => textOf(await scripts.run("watch", name, [])),
  });

  const index = createIndex(link, scripts, names);
  const history = createHistory({ scripts, names, marginMs, find });
  const { auditPage: _auditPage, erase: _erase, note, ...historyVerbs } = history;

  const resources = async (identity: Identity): Promise<readonly Resource[]> =>
    listOf(await scripts.run("resources", names.record(identity), [])).map(decodeResource);

  /**
   * Before the verb: what it tells may then be noted without it. Where it cannot be noted in a moment, the verb goes on
   * without: the outcome of done work must not be lost for a pointer to it.
   */
  async function telling<Request extends Claim & { readonly resources?: readonly Resource[] }>(
    request: Request,
    verb: (request: Request) => Promise<Fenced>,
  ): Promise<Fenced> {
    const told = request.resources ?? [];
    const args = [request.owner, String(request.fence), String(limits.resourcesMax), ...told.map(encodeResource)];
    await withDeadline(environment, options.callTimeoutMs / tellingPart, async () => {
      const left = textOf(await scripts.run("tell", names.record(request.identity), args));
      if (left !== "") await index.add(request.identity, { resources: told }, Number(left) + marginMs);
    }).catch(() => unindexed.note(request.identity));
    return verb(request);
  }

  const owned: OwnedParts = { link, scripts, names, margin, wait: options.wait, wake: (name) => watcher.wake(name) };

  async function look(identity: Identity): Promise<{ readonly row: Row | undefined; readonly nowUs: number }> {
    const [now, values] = listOf(await scripts.run("find", names.record(identity), [...fields, "b"]));
    return { row: rowOf(listOf(values)), nowUs: numberOf(now) };
  }

  async function find(identity: Identity): Promise<StoredRecord | undefined> {
    const { row, nowUs } = await look(identity);
    return row === undefined ? undefined : recordView(row, row, nowUs);
  }

  async function indexAgain(identity: Identity): Promise<void> {
    const { row, nowUs } = await look(identity);
    if (row === undefined) return;
    const leftMs = retentionLeftMs(row, nowUs) + marginMs;
    await index.add(identity, { labels: row.labels, resources: await resources(identity) }, leftMs);
  }

  const left = (name: string, command: "hget" | "hdel"): Promise<unknown> =>
    scripts.repeat("forget", true, {}, () => link.sendTo(name, [command, name, "q"]));

  const unindexed = createUnindexed(names, indexAgain);

  /** What was asked of records that went goes with them. */
  async function removed(gone: Parameters<Afterwards["removed"]>[0]): Promise<void> {
    const kept = gone.flatMap(({ name }) => ["runs", "others", "twins"].map((kind) => `${name}:${kind}`));
    await Promise.all(kept.map((name) => scripts.repeat("sweep", true, {}, () => link.sendTo(name, ["unlink", name]))));
    // An index of what is in use has no end of its own. Whoever runs under the key since may be in it: written again.
    const found = gone.filter(({ indexed }) => index.namesOf(indexed).length > 0);
    await Promise.all(
      found.map(async ({ row, indexed }) => {
        await index.remove(row.identity, indexed);
        await indexAgain(row.identity);
      }),
    );
  }

  const indexed: Afterwards["indexed"] = async ({ row: { identity, labels } }) => ({
    labels,
    resources: await resources(identity),
  });

  /** A record in doubt outlives its retention: so does what finds it, and what was asked of it. */
  async function stayed(name: string, { identity, labels }: Row): Promise<void> {
    await index.add(identity, { labels, resources: await resources(identity) }, marginMs);
    for (const kind of ["runs", "others", "twins"]) {
      const own = `${name}:${kind}`;
      await scripts.repeat("sweep", true, {}, () => link.sendTo(own, ["pexpire", own, margin]));
    }
  }

  const unnoted: AuditNote[] = [];
  const noteSoon = (entry: AuditNote): Promise<void> =>
    note(entry).catch(() => void (unnoted.length < unnotedMax && unnoted.push(entry)));

  const claim = createClaims(owned, ticks);
  const verbs = createOwnedVerbs(owned);

  return {
    name: "redis",
    capabilities,
    callTimeoutMs: options.callTimeoutMs,

    async claim(request, transaction) {
      const { labels, identity } = request;
      if (labels === undefined) return claim(request, transaction);
      // Beside each other: an index that leads to no record, or to one without the label, is only in the way.
      const indexing = index.add(identity, { labels }, request.retentionMs + marginMs);
      const isFindable = indexing.then(
        () => true,
        () => false,
      );
      try {
        return await claim(request, transaction);
      } finally {
        // Only now there is a record that tells its labels.
        if (!(await isFindable)) unindexed.note(identity);
      }
    },
    ...verbs,
    complete(request, transaction) {
      unindexed.tryAgain();
      return request.resources === undefined || transaction !== undefined
        ? verbs.complete(request, transaction)
        : telling(request, verbs.complete);
    },
    suspend: (request) => (request.resources === undefined ? verbs.suspend(request) : telling(request, verbs.suspend)),
    startStep: (request) =>
      request.resources === undefined ? verbs.startStep(request) : telling(request, verbs.startStep),
    finishStep: (request) =>
      request.resources === undefined ? verbs.finishStep(request) : telling(request, verbs.finishStep),
    // No transaction of Redis can be under way: what is there now is what there is.
    landed: async (request) => landedOf(await find(request.identity), request),
    steps: async (identity) => stepsOf(await scripts.run("steps", names.record(identity), [])),
    async settle(request) {
      const name = names.record(request.identity);
      const result = await settle(scripts, name, request, { margin, channel: names.channel(name) });
      watcher.wake(name);
      const { identity, fence, actor, reason, decision } = request;
      // It is made, and stands in the record's own audit: the journal, perhaps on another server, is written later.
      if (result === "ok") await noteSoon({ identity, fence, actor, action: decision.kind, reason });
      return result;
    },
    ...historyVerbs,
    resources,
    async note(entry) {
      const { identity, fence = 0, actor, action, reason } = entry;
      await note(entry);
      if (identity === undefined) return;
      const row = encodeAudit({ actor, action, reason, fence });
      await scripts.run("note", names.record(identity), [row, String(auditMax)]);
    },
    emptyReasons: (values) => emptyReasons({ scripts, names, history }, values),
    forget: (request) => forget({ scripts, names, margin, history, index, resources, indexAgain, left }, request),
    audit: (identity) => audit(scripts, names.record(identity)),
    find,
    list: (query) =>
      query.label === undefined && query.resource === undefined ? list(walk, query) : index.list(query),
    stats: () => stats(walk),
    sweep: alone(createSweep(walk, ticks, scripts, { indexed, removed, stayed })),

    tick(request) {
      unindexed.tryAgain();
      for (const entry of unnoted.splice(0)) void noteSoon(entry);
      return ticks.tick(request);
    },
    async ping() {
      checked = false;
      await scripts.run("ping", names.probe, []);
    },
    ...createInspection({
      link,
      scripts,
      names,
      driver: driven.kind.startsWith("ioredis") ? "ioredis" : "redis",
      wait: options.wait,
    }),
    watch: (identity, timeoutMs) => watcher.watch(names.record(identity), timeoutMs),
    close: async () => watcher.close(),
  };
}
