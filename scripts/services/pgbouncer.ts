import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { requireProgram } from "./binaries.ts";
import { answersPostgres } from "./handshakes.ts";
import { launch } from "./instance.ts";
import type { Instance } from "./instance.ts";

export interface PgbouncerOptions {
  readonly poolMode?: "transaction" | "session" | "statement";
  /** Server connections for each user and database. */
  readonly poolSize?: number;
  readonly settings?: Readonly<Record<string, string | number>>;
}

/** A pooler in front of the given server. Its `url` names the same database as `postgresUrl`. */
export async function startPgbouncer(postgresUrl: string, options: PgbouncerOptions = {}): Promise<Instance> {
  const pooler = requireProgram("pgbouncer", "pgbouncer");
  const { hostname, port: serverPort, username, password, pathname } = new URL(postgresUrl);
  const user = decodeURIComponent(username || "postgres");
  const login = password === "" ? `user=${user}` : `user=${user} password=${decodeURIComponent(password)}`;
  const settings = {
    listen_addr: "127.0.0.1",
    unix_socket_dir: "",
    auth_type: "any",
    pool_mode: options.poolMode ?? "transaction",
    default_pool_size: options.poolSize ?? 10,
    max_client_conn: 500,
    // Drivers set it when they connect; without this the pooler refuses them.
    ignore_startup_parameters: "extra_float_digits",
    server_tls_sslmode: "disable",
    ...options.settings,
  };
  return launch({
    name: "pgbouncer",
    prepare: (folder, port) => {
      const lines = Object.entries({ ...settings, listen_port: port }).map(([name, value]) => `${name} = ${value}`);
      const server = `* = host=${hostname} port=${serverPort || "5432"} ${login}`;
      writeFileSync(join(folder, "pgbouncer.ini"), ["[databases]", server, "[pgbouncer]", ...lines, ""].join("\n"));
    },
    command: (folder) => ({ program: pooler, args: [join(folder, "pgbouncer.ini")] }),
    url: (port) => `postgres://${encodeURIComponent(user)}@127.0.0.1:${port}${pathname}`,
    ready: answersPostgres,
    endSignal: "SIGTERM",
  });
}
