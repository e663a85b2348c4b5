import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { serverAccount } from "./account.ts";
import { findProgram, requireProgram } from "./binaries.ts";
import { answersMariadb } from "./handshakes.ts";
import { launch } from "./instance.ts";
import type { Instance } from "./instance.ts";
import { runAsServer } from "./run-program.ts";

export interface MariadbOptions {
  /** Server options without the leading dashes. The defaults do not wait for the disk, see PostgresOptions. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Added to the environment of the server. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where its data are and stay, see Recipe. */
  readonly folder?: string;
}

const defaults: Readonly<Record<string, string | number>> = {
  "bind-address": "127.0.0.1",
  "innodb-flush-log-at-trx-commit": 2,
  "innodb-buffer-pool-size": "64M",
  "innodb-log-file-size": "32M",
  "max-connections": 200,
  "character-set-server": "utf8mb4",
  "default-time-zone": "+00:00",
};

// Whether 127.0.0.1 is called localhost depends on the machine's name resolution; the account must work either way.
const accounts = `CREATE USER IF NOT EXISTS root@'127.0.0.1' IDENTIFIED BY '';
GRANT ALL PRIVILEGES ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;
`;

export async function startMariadb(options: MariadbOptions = {}): Promise<Instance> {
  const server = findProgram("mariadbd") ?? requireProgram("mariadb", "mysqld");
  const install = findProgram("mariadb-install-db") ?? requireProgram("mariadb", "mysql_install_db");
  const settings = Object.entries({ ...defaults, ...options.settings });
  const user = serverAccount() === undefined ? [] : ["--user=nobody"];
  return launch({
    name: "mariadb",
    folder: options.folder,
    prepare: async (folder) => {
      const args = [
        "--no-defaults",
        `--datadir=${join(folder, "data")}`,
        // A server that starts removes what it takes for its own leftovers, in a shared folder those of a living one.
        `--tmpdir=${folder}`,
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
      ];
      await runAsServer(install, [...args, ...user], { folder });
      writeFileSync(join(folder, "accounts.sql"), accounts);
    },
    command: (folder, port) => ({
      program: server,
      args: [
        "--no-defaults",
        `--datadir=${join(folder, "data")}`,
        `--tmpdir=${folder}`,
        `--port=${port}`,
        `--socket=${join(folder, "server.sock")}`,
        `--pid-file=${join(folder, "server.pid")}`,
        `--init-file=${join(folder, "accounts.sql")}`,
        ...user,
        ...settings.map(([name, value]) => `--${name}=${value}`),
      ],
    }),
    env: () => options.env ?? {},
    url: (port) => `mysql://root@127.0.0.1:${port}/mysql`,
    ready: answersMariadb,
  });
}
