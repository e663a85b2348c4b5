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
import { IchidoError } from "../../core/contract/errors.ts";
import type {
  Claim,
  ClaimResult,
  Fenced,
  SettleResult,
  Store,
  StoreCapabilities,
  StoredRecord,
} from "../../core/contract/store.ts";
import type { Identity } from "../../core/contract/record.ts";
import { isInDoubt } from "../../core/engine/doubt.ts";
import { nobody } from "../../core/record-machine/bounds.ts";
import { landedOf } from "../../core/record-machine/owned.ts";
import { recordView } from "../../core/record-machine/view.ts";
import { claim, grantIn, microseconds } from "./claim.ts";
import type { Decode, Grant } from "./claim.ts";
import { kindOf } from "../../drivers/redis/client.ts";
import type { RedisArgument, RedisClient } from "../../drivers/redis/client.ts";
import { createHealth } from "./health.ts";
import { linkOf } from "../../drivers/redis/link.ts";
import { list, stats } from "./listing.ts";
import type { Walk } from "./listing.ts";
import { namesFor } from "./names.ts";
import { resolveOptions } from "./options.ts";
import type { RedisStoreOptions } from "./options.ts";
import { runReplicated, tooFewReplicas } from "./replicas.ts";
import type { Replication } from "./replicas.ts";
import { bufferOf, listOf, numberOf, textOf } from "../../drivers/redis/reply.ts";
import { auditOf, encodeAudit, encodeHead, fields, rowOf, stepsOf } from "./row.ts";
import { createScripts } from "./scripts.ts";
import type { Verb } from "./scripts.ts";
import { aloneBy, createSweep } from "./sweep.ts";
import { createTicks } from "./ticks.ts";
import { readPage } from "./walk.ts";
import { createWatcher } from "./watch.ts";

export interface RedisStore extends Store {
  watch(identity: Identity, timeoutMs: number): Promise<void>;
}

/** Audit rows kept of one record; settlements are made by people. */
const auditMax = 1_000;

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

  async function fenced(verb: Verb, name: string, held: Claim, args: readonly RedisArgument[]): Promise<Fenced> {
    const proof = [held.owner, String(held.fence)];
    return fencedOf(await scripts.run(verb, name, [...proof, ...args]));
  }

  /** Gives back what nobody waits for, or what too few replicas have. What was in doubt stays in doubt. */
  function giveBack(name: string, owner: string, grant: Grant): void {
    const proof = [owner, String(grant.fence)];
    const channel = names.channel(name);
    const given = isInDoubt(grant)
      ? scripts.run("suspend", name, [...proof, "", "", "", "", channel])
      : scripts.run("release", name, [...proof, margin, channel]);
    given.catch(() => undefined);
  }

  function runClaim(name: string, owner: string, args: readonly RedisArgument[], decode: Decode): Promise<ClaimResult> {
    if (options.wait !== undefined) return runClaimReplicated(name, owner, args, options.wait).then(decode);
    return scripts.runDecoded("claim", name, args, decode, (reply) => {
      const grant = grantIn(reply);
      if (grant !== undefined) giveBack(name, owner, grant);
    });
  }

  async function runClaimReplicated(
    name: string,
    owner: string,
    args: readonly RedisArgument[],
    wait: Replication,
  ): Promise<unknown> {
    const { reply, safe } = await runReplicated(link, scripts, wait, "claim", name, args);
    const grant = grantIn(reply);
    if (grant === undefined || safe) return reply;
    giveBack(name, owner, grant);
    throw tooFewReplicas("claim", wait);
  }

  async function runCompleteReplicated(
    name: string,
    args: readonly RedisArgument[],
    wait: Replication,
  ): Promise<unknown> {
    const { reply, safe } = await runReplicated(link, scripts, wait, "complete", name, args);
    if (fencedOf(reply) === "ok" && !safe) throw tooFewReplicas("complete", wait);
    return reply;
  }

  async function find(identity: Identity): Promise<StoredRecord | undefined> {
    const [now, values] = listOf(await scripts.run("find", names.record(identity), [...fields, "b"]));
    const row = rowOf(listOf(values));
    return row === undefined ? undefined : recordView(row, row, numberOf(now));
  }

  return {
    name: "redis",
    capabilities,
    callTimeoutMs: options.callTimeoutMs,

    claim(request, transaction) {
      if (transaction !== undefined) return Promise.reject(cannotJoin("claim"));
      const name = names.record(request.identity);
      return claim(request, ticks, margin, (args, decode) => runClaim(name, request.owner, args, decode));
    },
    renew: (requests) =>
      Promise.all(
        requests.map((each) =>
          fenced("renew", names.record(each.identity), each, [microseconds(each.leaseMs), margin]),
        ),
      ),
    complete({ identity, owner, fence, response }, transaction) {
      if (transaction !== undefined) return Promise.reject(cannotJoin("complete"));
      const { wait } = options;
      const name = names.record(identity);
      const args = [
        owner,
        String(fence),
        encodeHead(response),
        bufferOf(response.body),
        margin,
        names.channel(name),
        wait === undefined ? "" : "1",
      ];
      const decode = (reply: unknown): Fenced => {
        watcher.wake(name);
        return fencedOf(reply);
      };
      if (wait !== undefined) return runCompleteReplicated(name, args, wait).then(decode);
      return scripts.runDecoded("complete", name, args, decode);
    },
    // No transaction of Redis can be under way: what is there now is what there is.
    landed: async (request) => landedOf(await find(request.identity), request),
    async release(held) {
      const name = names.record(held.identity);
      const result = await fenced("release", name, held, [margin, names.channel(name)]);
      watcher.wake(name);
      return result;
    },
    async suspend(request) {
      const { interim, holdReason } = request;
      const name = names.record(request.identity);
      const result = await fenced("suspend", name, request, [
        interim === undefined ? "" : encodeHead(interim),
        interim === undefined ? "" : bufferOf(interim.body),
        holdReason === undefined ? "" : "1",
        holdReason ?? "",
        names.channel(name),
      ]);
      watcher.wake(name);
      return result;
    },

    startStep: (request) =>
      fenced("startStep", names.record(request.identity), request, [microseconds(request.leaseMs), request.name]),
    finishStep: (request) =>
      fenced("finishStep", names.record(request.identity), request, [
        microseconds(request.leaseMs),
        request.name,
        bufferOf(request.result),
      ]),
    steps: async (identity) => stepsOf(await scripts.run("steps", names.record(identity), [])),

    async settle({ identity, fence, decision, actor, reason, unlessHeld }) {
      const name = names.record(identity);
      const response = decision.kind === "adopt" ? decision.response : undefined;
      const reply = await scripts.run("settle", name, [
        String(fence),
        decision.kind,
        response === undefined ? "" : encodeHead(response),
        response === undefined ? "" : bufferOf(response.body),
        reason,
        encodeAudit({ actor, action: decision.kind, reason, fence }),
        nobody,
        margin,
        names.channel(name),
        String(auditMax),
        unlessHeld === true ? "1" : "",
      ]);
      watcher.wake(name);
      return settleResultOf(reply);
    },
    audit: async (identity) =>
      listOf(await scripts.run("audit", names.record(identity), [String(auditMax)])).map(auditOf),

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

function fencedOf(reply: unknown): Fenced {
  return numberOf(reply) === 1 ? "ok" : "stale";
}

const settleResults: readonly SettleResult[] = ["ok", "stale", "absent", "live", "completed"];

function settleResultOf(reply: unknown): SettleResult {
  const verdict = textOf(reply);
  return settleResults.find((each) => each === verdict) ?? "stale";
}

function cannotJoin(verb: string): IchidoError {
  return new IchidoError(
    "usage-invalid",
    `${verb}: the redis store cannot join a transaction of another database; keep keys in that database for that`,
  );
}
