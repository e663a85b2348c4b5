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
import type { Identity } from "../../core/contract/record.ts";
import type { Store, StoreCapabilities } from "../../core/contract/store.ts";
import type { Migrator } from "../../sql/migrator.ts";
import { createClaims, type StoreParts } from "./claim.ts";
import { kindOf, type ClientKind, type PostgresClient } from "./client.ts";
import type { Connection, Prepare } from "./connection.ts";
import { toIchidoError } from "./failures.ts";
import { createHistoryVerbs } from "./history.ts";
import { createListener, subscriptionFor, type Listener } from "./listen.ts";
import { createInspection } from "./inspection.ts";
import { createReadingVerbs } from "./listing.ts";
import { createStoreMigrator } from "./migrate.ts";
import { resolveOptions, type PostgresStoreOptions } from "./options.ts";
import { createOwnedVerbs } from "./owned.ts";
import { lendClient, pgConnection, pgPoolConnection } from "./pg-connection.ts";
import { ping } from "./ping.ts";
import { createPoolerCheck } from "./pooler.ts";
import { postgresJsConnection } from "./postgres-js-connection.ts";
import { createRenewals } from "./renewals.ts";
import { createRetries } from "./retries.ts";
import { numberOf } from "./row.ts";
import { createRun } from "./run.ts";
import { audit, settle } from "./settle.ts";
import { channelFor, statementsFor } from "./statements.ts";
import { countingSteps, createStepVerbs, type StepsParts } from "./steps.ts";
import { sweep, tick } from "./sweep.ts";
import { identityArrays } from "./values.ts";
import { createWatcher } from "./watch.ts";

export interface PostgresStore extends Store, Migrator {
  watch(identity: Identity, timeoutMs: number): Promise<void>;
}

const capabilities: StoreCapabilities = {
  durable: true,
  shared: true,
  transactions: "postgres",
  transactionMode: true,
  promise:
    "An acknowledged write survives a crash of the server while fsync and synchronous_commit are on, and a failover " +
    "only to a synchronous standby.",
};

export function postgresStore(client: PostgresClient, given: PostgresStoreOptions = {}): PostgresStore {
  const options = resolveOptions(given);
  const { environment, callTimeoutMs } = options;
  const kind = kindOf(client);
  const connection = connectionFor(kind, options.prepare);
  const renewals = createRenewals({ client: kind, connection, prepare: options.prepare, environment });
  const statements = statementsFor(options);
  const poolerCheck = createPoolerCheck(connection, options);
  const withRetries = createRetries(environment, callTimeoutMs);
  const channel = channelFor(options);
  const run = createRun({ connection, statements, withRetries, lockTimeoutMs: options.lockTimeoutMs });
  const parts: StoreParts = { connection, statements, options, withRetries, channel };

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

  const reading = createReadingVerbs(run, { run: connection.look ?? connection.run });

  async function checkPooler(): Promise<void> {
    await poolerCheck(callTimeoutMs).catch((error: unknown) => {
      throw toIchidoError(error, "ping");
    });
  }

  return {
    name: "postgres",
    capabilities,
    callTimeoutMs,
    claim: countingSteps(createClaims(parts), stepsParts),
    ...createOwnedVerbs({ ...parts, run, renewals, wake: (identity) => watcher.wake(identity) }),
    ...createStepVerbs(stepsParts),
    ...reading,
    async settle(request) {
      const result = await settle(run, request, channel);
      watcher.wake(request.identity);
      return result;
    },
    audit: (identity) => audit(run, identity),
    ...createHistoryVerbs(run, reading.find),
    sweep: (request) => sweep(run, request, environment),
    tick: (request) => tick(run, request),
    ping: () => ping(run, checkPooler),
    ...createInspection(run, { client: kind, connection, options }),
    watch: (identity, timeoutMs) => watcher.watch(identity, timeoutMs),
    async close() {
      watcher.close();
      await listener?.close();
      await renewals.close();
    },
    ...createStoreMigrator(connection, options),
  };
}

function connectionFor(client: ClientKind, prepare: Prepare): Connection {
  switch (client.kind) {
    case "pg-pool":
      return pgPoolConnection(client.pool, prepare);
    case "pg-client":
      return pgConnection(lendClient(client.client), prepare);
    case "postgres-js":
      return postgresJsConnection(client.sql, prepare === true);
  }
}
