/**
 * A TCP proxy that fails on demand, between any client and any server. Its main purpose is this failure: the server has
 * committed, and the client never learns it.
 *
 * ```ts
 * const proxy = await createFaultProxy({ target: postgresUrl });
 * const pool = new Pool({ connectionString: proxy.url });
 * proxy.cut({ direction: "to-client", pattern: "COMMIT", place: "before" }); // the acknowledgement is lost
 * ```
 */
import { knownOptions } from "../core/contract/option-checks.ts";
import { createServer } from "node:net";
import type { Socket } from "node:net";
import { createCutRules } from "./cut-rules.ts";
import type { Cut, CutRule } from "./cut-rules.ts";
import { proxyConnection } from "./proxied-connection.ts";
import type { Connection, ProxiedConnection, ProxyFaults } from "./proxied-connection.ts";

export type { Cut, CutRule, Direction } from "./cut-rules.ts";
export type { LinkFaults } from "./fault-link.ts";
export type { ProxiedConnection, ProxyFaults } from "./proxied-connection.ts";

/** New connections: passed on, accepted and never answered, or reset at once. */
export type Admission = "pass" | "hang" | "reset";

export interface ProxyCounts {
  readonly accepted: number;
  readonly open: number;
  readonly hung: number;
  readonly reset: number;
  readonly cut: number;
}

export interface FaultProxy {
  readonly host: string;
  readonly port: number;
  /** The target's address with the proxy's host and port in it. */
  readonly url: string;
  readonly counts: ProxyCounts;
  readonly connections: readonly ProxiedConnection[];
  /** For all connections, present and future. Replaces what was set before. */
  faults(faults: ProxyFaults): void;
  admit(admission: Admission): void;
  cut(rule: CutRule): Cut;
  /** Resets every open connection now. */
  reset(): void;
  /** A good network again: no faults, no cuts, new connections pass. Connections that lost bytes or hung are reset. */
  heal(): void;
  close(): Promise<void>;
}

export interface FaultProxyOptions {
  /** An address such as `postgres://user@127.0.0.1:5432/db`, or host and port. */
  readonly target: string | { readonly host: string; readonly port: number };
}

export async function createFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  knownOptions("createFaultProxy", options, { target: true });
  const target = targetOf(options.target);
  const connections = new Map<number, Connection>();
  const hung = new Set<Socket>();
  const cuts = createCutRules();
  const counts = { accepted: 0, hung: 0, reset: 0, cut: 0 };
  let faults: ProxyFaults = {};
  let admission: Admission = "pass";

  function serve(client: Socket): void {
    counts.accepted += 1;
    const id = counts.accepted;
    client.on("error", () => {});
    if (admission === "reset") {
      counts.reset += 1;
      client.resetAndDestroy();
    } else if (admission === "hang") {
      counts.hung += 1;
      hung.add(client);
      client.on("close", () => hung.delete(client));
    } else {
      const connection = proxyConnection({
        id,
        client,
        target,
        faults: () => faults,
        look: cuts.watcher(),
        onCut: () => (counts.cut += 1),
        onClose: () => connections.delete(id),
      });
      connections.set(id, connection);
    }
  }

  function resetAll(chosen: Iterable<ProxiedConnection>): void {
    for (const connection of chosen) {
      counts.reset += 1;
      connection.reset();
    }
    for (const socket of hung) socket.resetAndDestroy();
  }

  const listener = createServer({ allowHalfOpen: true, noDelay: true }, serve);
  await new Promise<void>((resolve, reject) => {
    listener.once("error", reject);
    listener.listen(0, "127.0.0.1", resolve);
  });
  const address = listener.address();
  if (address === null || typeof address === "string") throw new Error("the fault proxy got no port");

  return {
    host: "127.0.0.1",
    port: address.port,
    url: target.urlThrough(address.port),
    get counts() {
      return { ...counts, open: connections.size + hung.size };
    },
    get connections() {
      return [...connections.values()];
    },
    faults(next) {
      faults = next;
      for (const connection of connections.values()) connection.changed();
    },
    admit(next) {
      admission = next;
    },
    cut: (rule) => cuts.arm(rule),
    reset: () => resetAll(connections.values()),
    heal() {
      faults = {};
      admission = "pass";
      cuts.clear();
      for (const connection of connections.values()) connection.faults({});
      resetAll([...connections.values()].filter((connection) => connection.spoilt));
    },
    async close() {
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      resetAll(connections.values());
      await closed;
    },
  };
}

const defaultPorts: Readonly<Record<string, number>> = {
  "http:": 80,
  "postgres:": 5432,
  "postgresql:": 5432,
  "mysql:": 3306,
  "mariadb:": 3306,
  "redis:": 6379,
  "nats:": 4222,
  "amqp:": 5672,
};

function targetOf(target: FaultProxyOptions["target"]): {
  readonly host: string;
  readonly port: number;
  urlThrough(port: number): string;
} {
  if (typeof target !== "string") {
    return { host: target.host, port: target.port, urlThrough: (port) => `tcp://127.0.0.1:${port}` };
  }
  const url = new URL(target);
  const port = Number(url.port || (defaultPorts[url.protocol] ?? 0));
  if (port === 0) throw new RangeError(`the fault proxy's target ${url.protocol}//${url.host} names no port; add one`);
  return {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port,
    urlThrough(proxyPort) {
      const through = new URL(target);
      through.hostname = "127.0.0.1";
      through.port = String(proxyPort);
      return through.href;
    },
  };
}
