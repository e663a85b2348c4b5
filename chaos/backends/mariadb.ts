/** A private MariaDB. The servers' account may not write while the server is read-only, as that of an application. */
import { createConnection } from "mysql2/promise";
import { startMariadb } from "../../scripts/services/mariadb.ts";
import { policies } from "../policies.ts";
import type { Backend } from "./backend.ts";
import { fillable } from "./full-disk.ts";
import { shimmedServer } from "./shimmed-server.ts";

async function run(url: string, ...statements: readonly string[]): Promise<void> {
  const connection = await createConnection({ uri: url, connectTimeout: 2_000 });
  connection.on("error", () => {});
  try {
    for (const statement of statements) await connection.query(statement);
  } finally {
    connection.destroy();
  }
}

export async function startMariadbBackend(): Promise<Backend> {
  const shim = shimmedServer();
  const server = await startMariadb({ env: shim?.env ?? {} });
  await run(
    server.url,
    "CREATE DATABASE chaos",
    "CREATE USER app@'%' IDENTIFIED BY ''",
    "CREATE USER app@localhost IDENTIFIED BY ''",
    "GRANT ALL PRIVILEGES ON chaos.* TO app@'%'",
    "GRANT ALL PRIVILEGES ON chaos.* TO app@localhost",
  );
  const url = new URL(server.url);
  url.username = "app";
  url.pathname = "/chaos";
  return {
    url: url.href,
    line: { key: Buffer.from("key-").toString("hex"), commit: "COMMIT" },
    policies: policies.filter((policy) => policy !== "transaction"),
    async restart() {
      await server.kill("SIGKILL");
      await server.restart();
    },
    readOnly: (on) => run(server.url, `SET GLOBAL read_only = ${Number(on)}`),
    ...(shim === undefined ? {} : { leap: (ms: number) => shim.leap(ms), ...fillable(server, shim) }),
    async stop() {
      await server.stop();
      shim?.remove();
    },
  };
}
