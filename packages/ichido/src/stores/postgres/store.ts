/**
 * The PostgreSQL store.
 *
 * Promised: every verb on one record is one statement in a transaction of its own (`landed` may wait by another one
 * first), decided by the server under the record's row lock and by the server's clock. A claim is one round trip whatever
 * its outcome; replays and refusals write nothing, but for the first that is told of a doubt and notes that it stays.
 * Nothing is left on a session, so a pooler in transaction mode may stand between. Calls are bounded by `callTimeoutMs`;
 * a claim or completion whose answer was lost is sent again and recognises itself.
 *
 * Left out: what an asynchronous replica has not received when the primary dies is lost, records and business writes
 * alike. Two databases never commit together; `complete` joins a transaction only in the database of the records.
 */
import { IchidoError } from "../../core/contract/errors.ts";
import type { Identity } from "../../core/contract/record.ts";
import type { Claim, Fenced, RenewRequest, SettleResult, Store } from "../../core/contract/store.ts";
import { decodeCursor, encodeCursor } from "../encoding/cursor.ts";
import { encodeHeaders } from "../encoding/header-lines.ts";
import { encodeLabels } from "../encoding/labels.ts";
import { bufferOf, bytesArray, numberArray, textArray } from "./arrays.ts";
import { createClaims } from "./claims.ts";
import type { StoreParts } from "./claims.ts";
import { kindOf } from "./client.ts";
import type { ClientKind, PostgresClient } from "./client.ts";
import { createCompletions } from "./completions.ts";
import type { Connection, Prepare, Row } from "./connection.ts";
import { failureKind, toIchidoError } from "./failures.ts";
import { createListener, subscriptionFor } from "./listen.ts";
import type { Listener } from "./listen.ts";
import { createLanded } from "./landed.ts";
import type { Migrator } from "../../sql/migrator.ts";
import { createStoreMigrator } from "./migrate.ts";
import { resolveOptions } from "./options.ts";
import type { PostgresStoreOptions } from "./options.ts";
import { createRetries } from "./retries.ts";
import { createPoolerCheck } from "./pooler.ts";
import type { Repeatable } from "./retries.ts";
import { lendClient, lendFromPool, pgConnection } from "./pg-connection.ts";
import { postgresJsConnection } from "./postgres-js-connection.ts";
import { createRenewals } from "./renewals.ts";
import { auditEntryOf, flagOf, numberOf, recordOf, stepOf, textOf } from "./row.ts";
import { countingSteps, createStepVerbs } from "./steps.ts";
import type { StepsParts } from "./steps.ts";
import { channelFor, knownMigrations, statementsFor } from "./statements.ts";
import type { StatementName } from "./statements.ts";
import { encodeMembers, encodeOptional, encodeText } from "./text.ts";
import { createWatcher } from "./watch.ts";

export interface PostgresStore extends Store, Migrator {
  watch(identity: Identity, timeoutMs: number): Promise<void>;
}

/** One transaction of a sweep. Small, so that it never holds many rows, nor for long. */
const sweepBatch = 200;
const listLimitMax = 1_000;

export function postgresStore(client: PostgresClient, given: PostgresStoreOptions = {}): PostgresStore {
  const options = resolveOptions(given);
  const { environment } = options;
  const kind = kindOf(client);
  const connection = connectionFor(kind, options.prepare);
  const renewals = createRenewals({ client: kind, connection, prepare: options.prepare, environment });
  const statements = statementsFor(options);
  const checkPooler = createPoolerCheck(connection, options);
  const withRetries = createRetries(environment, options.callTimeoutMs);
  const channel = channelFor(options);
  const parts: StoreParts = { connection, statements, options, withRetries, channel };

  async function run(
    verb: StatementName,
    repeatable: Repeatable,
    values: readonly unknown[],
    way: Pick<Connection, "run"> = connection,
  ): Promise<readonly Row[]> {
    try {
      return await withRetries(repeatable, (leftMs) => way.run(statements[verb], values, leftMs));
    } catch (error) {
      throw toIchidoError(error, verb);
    }
  }

  let listener: Listener | undefined;
  const watcher = createWatcher({
    environment,
    async poll(identities) {
      const rows = await run("watch", "always", identityArrays(identities));
      return rows.map((row) => numberOf(row[0]) - 1);
    },
    async mark(identities) {
      await run("markWatched", "always", identityArrays(identities));
    },
    listener: () => listener,
  });
  if (options.listen !== false) {
    listener = createListener(subscriptionFor(kind, options.listen, channel), (digest) => watcher.wakeByDigest(digest));
  }

  const stepsParts: StepsParts = { statements, run: (verb, values) => run(verb, "always", values) };
  const claim = countingSteps(createClaims(parts), stepsParts);
  const complete = createCompletions(parts);

  async function fenced(verb: StatementName, request: Claim, ...more: readonly unknown[]): Promise<Fenced> {
    const rows = await run(verb, "always", [...claimValues(request), ...more]);
    return rows.length === 1 ? "ok" : "stale";
  }

  /** Its row is locked, most likely by the completion itself in a transaction that is about to commit. */
  async function renewWaiting(request: RenewRequest): Promise<Fenced> {
    const values = [...claimValues(request), String(request.leaseMs), String(options.lockTimeoutMs)];
    try {
      const rows = await withRetries("always", (leftMs) => renewals.run(statements.renewWaiting, values, leftMs));
      return rows.length === 1 ? "ok" : "stale";
    } catch (error) {
      // Whoever wants to take the record over has to wait for that lock too.
      if (failureKind(error) === "locked") return "ok";
      throw toIchidoError(error, "renew");
    }
  }

  const store: PostgresStore = {
    name: "postgres",
    capabilities: {
      durable: true,
      shared: true,
      transactions: "postgres",
      transactionMode: true,
      promise:
        "An acknowledged write survives a crash of the server while fsync and synchronous_commit are on, and a failover " +
        "only to a synchronous standby.",
    },
    callTimeoutMs: options.callTimeoutMs,

    claim,
    async renew(requests) {
      if (requests.length === 0) return [];
      const values = [
        textArray(requests.map(({ identity }) => encodeText(identity.key))),
        bytesArray(requests.map(({ identity }) => identity.scopeHash)),
        textArray(requests.map(({ owner }) => owner)),
        numberArray(requests.map(({ fence }) => fence)),
        numberArray(requests.map(({ leaseMs }) => leaseMs)),
      ];
      const rows = await run("renew", "always", values, renewals);
      const held = new Map(rows.map(([place, renewed]) => [numberOf(place), flagOf(renewed)]));
      return Promise.all(
        requests.map(async (request, index): Promise<Fenced> => {
          const renewed = held.get(index + 1);
          if (renewed === undefined) return "stale";
          return renewed ? "ok" : renewWaiting(request);
        }),
      );
    },
    complete(request, transaction) {
      const completing = complete(request, transaction);
      // On the caller's transaction nothing has changed yet for others.
      if (transaction !== undefined) return completing;
      return completing.then((answer) => {
        watcher.wake(request.identity);
        return answer;
      });
    },
    landed: createLanded(parts),
    async release(request) {
      const answer = await fenced("release", request, channel);
      watcher.wake(request.identity);
      return answer;
    },
    async suspend(request) {
      const { interim, holdReason } = request;
      const answer = await fenced(
        "suspend",
        request,
        interim?.kind ?? null,
        interim === undefined ? null : String(interim.status),
        interim === undefined ? null : encodeHeaders(interim.headers),
        interim === undefined ? null : bufferOf(interim.body),
        encodeOptional(holdReason),
        channel,
      );
      watcher.wake(request.identity);
      return answer;
    },

    ...createStepVerbs(stepsParts),
    async steps(identity) {
      const rows = await run("steps", "always", identityValues(identity));
      refuseStandby(rows);
      return rows.filter((row) => row[1] !== null).map(stepOf);
    },

    async settle({ identity, fence, decision, actor, reason, unlessHeld }) {
      const response = decision.kind === "adopt" ? decision.response : undefined;
      const rows = await run("settle", "conflicts", [
        ...identityValues(identity),
        String(fence),
        decision.kind,
        response?.kind ?? null,
        response === undefined ? null : String(response.status),
        response === undefined ? null : encodeHeaders(response.headers),
        response === undefined ? null : bufferOf(response.body),
        encodeText(actor),
        encodeText(reason),
        channel,
        String(unlessHeld === true),
      ]);
      watcher.wake(identity);
      return settleResultOf(rows[0]?.[0]);
    },
    async audit(identity) {
      return (await run("audit", "always", identityValues(identity))).map(auditEntryOf);
    },

    async find(identity) {
      const rows = await run("find", "always", identityValues(identity));
      refuseStandby(rows);
      const [row] = rows;
      return row === undefined || row[1] === null ? undefined : recordOf(row);
    },
    async list(query) {
      if (!Number.isInteger(query.limit) || query.limit < 1 || query.limit > listLimitMax) {
        throw new IchidoError(
          "option-invalid",
          `limit: expected an integer from 1 to ${listLimitMax}, got ${query.limit}`,
        );
      }
      const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
      const label = query.label && encodeMembers(Object.fromEntries([[query.label.name, query.label.value]]));
      // A filter that few records match reads many: one try, with all of the time.
      const rows = await run("list", "conflicts", [
        encodeOptional(query.tenant),
        encodeOptional(query.principal),
        encodeOptional(query.operation),
        encodeOptional(query.key),
        query.state ?? null,
        encodeLabels(label),
        after === undefined ? null : encodeText(after.key),
        after === undefined ? null : bufferOf(after.scopeHash),
        String(query.limit + 1),
      ]);
      const records = rows.slice(0, query.limit).map(recordOf);
      const last = records.at(-1);
      return {
        records,
        ...(rows.length > query.limit && last !== undefined && { cursor: encodeCursor(last.identity) }),
      };
    },
    async stats() {
      // As above, and it reads the whole table.
      const [row = []] = await run("stats", "conflicts", []);
      const [records, processing, completed, failed, unknown, bodyBytes, sweepLagMs, oldestUnknownMs] =
        row.map(numberOf);
      return {
        records: records ?? 0,
        processing: processing ?? 0,
        completed: completed ?? 0,
        failed: failed ?? 0,
        unknown: unknown ?? 0,
        bodyBytes: bodyBytes ?? 0,
        sweepLagMs: sweepLagMs ?? 0,
        oldestUnknownMs: oldestUnknownMs ?? 0,
      };
    },
    async sweep({ limit, budgetMs }) {
      const startedMs = environment.monotonicMs();
      let deleted = 0;
      for (;;) {
        const size = Math.min(sweepBatch, limit - deleted);
        const [[trusted, gone, more, alone] = []] = await run("sweep", "conflicts", [String(size)]);
        if (!flagOf(trusted)) return { deleted, more: false, guarded: true };
        if (!flagOf(alone)) return { deleted, more: false, guarded: false, busy: true };
        deleted += numberOf(gone);
        if (!flagOf(more) || deleted >= limit || environment.monotonicMs() - startedMs >= budgetMs) {
          return { deleted, more: flagOf(more), guarded: false };
        }
      }
    },

    async tick({ intervalMs }) {
      const [row] = await run("tick", "always", [String(intervalMs)]);
      return { trusted: flagOf(row?.[0]) };
    },
    async ping() {
      const [[version, standby, readOnly, commit, forbidden] = []] = await run("ping", "always", []);
      if (flagOf(standby) || flagOf(readOnly)) throw refusal();
      const newest = Math.max(...knownMigrations.map((step) => step.version));
      if (version === null || numberOf(version) < newest) {
        throw new IchidoError(
          "schema-missing",
          `the tables are at migration ${String(version)}, this version needs ${newest}; call \`await store.migrate()\` once at deploy`,
        );
      }
      if (typeof forbidden === "string") {
        throw new IchidoError(
          "access-denied",
          `this role may not write ${forbidden}; grant it select, insert, update and delete on them`,
        );
      }
      await checkPooler(options.callTimeoutMs).catch((error: unknown) => {
        throw toIchidoError(error, "ping");
      });
      if (commit === "off") {
        throw new IchidoError(
          "store-unavailable",
          "synchronous_commit is off: a crash of the server would forget keys that were already granted; turn it on for " +
            "this role or database",
        );
      }
    },
    watch: (identity, timeoutMs) => watcher.watch(identity, timeoutMs),
    async close() {
      watcher.close();
      await listener?.close();
      await renewals.close();
    },

    ...createStoreMigrator(connection, options),
  };
  return store;
}

function connectionFor(client: ClientKind, prepare: Prepare): Connection {
  switch (client.kind) {
    case "pg-pool":
      return pgConnection(lendFromPool(client.pool), prepare);
    case "pg-client":
      return pgConnection(lendClient(client.client), prepare);
    case "postgres-js":
      return postgresJsConnection(client.sql, prepare === true);
  }
}

function identityValues(identity: Identity): [string, Buffer] {
  return [encodeText(identity.key), bufferOf(identity.scopeHash)];
}

function claimValues({ identity, owner, fence }: Claim): unknown[] {
  return [...identityValues(identity), owner, String(fence)];
}

function identityArrays(identities: readonly Identity[]): [string, string] {
  return [
    textArray(identities.map(({ key }) => encodeText(key))),
    bytesArray(identities.map(({ scopeHash }) => scopeHash)),
  ];
}

/** A standby lags: what it does not show may exist. Statements that write are refused by the server itself. */
function refuseStandby(rows: readonly Row[]): void {
  if (flagOf(rows[0]?.[0])) throw refusal();
}

function refusal(): IchidoError {
  return new IchidoError(
    "store-unavailable",
    "this PostgreSQL server is a hot standby or the session is read-only; connect to the primary",
  );
}

const settleResults: readonly SettleResult[] = ["ok", "stale", "absent", "live", "completed"];

function settleResultOf(value: unknown): SettleResult {
  const verdict = textOf(value);
  return settleResults.find((each) => each === verdict) ?? "stale";
}
