import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { reapAfterDeath } from "../../packages/ichido/src/testing/reaper.ts";
import { giveToServer, serverAccount } from "./account.ts";
import { findProgram, newestFolder, ProgramMissing, requireProgram } from "./binaries.ts";
import { answersAmqp } from "./handshakes.ts";
import { freePort, launch } from "./instance.ts";
import type { Instance } from "./instance.ts";
import { gone, signal } from "./process-tree.ts";

/** The script in the package's own folder: the wrapper on the PATH changes the user and drops the environment. */
function serverScript(): string {
  const folder = newestFolder("/usr/lib/rabbitmq/lib", "rabbitmq_server-", "sbin");
  if (folder !== undefined) return join(folder, "rabbitmq-server");
  const onPath = findProgram("rabbitmq-server");
  if (onPath === undefined) throw new ProgramMissing("rabbitmq", "rabbitmq-server");
  return onPath;
}

export async function startRabbitmq(): Promise<Instance> {
  const script = serverScript();
  const names = await startPortMapper();
  const distributionPort = await freePort();
  try {
    const instance = await launch({
      name: "rabbitmq",
      prepare: (folder) => {
        for (const name of ["data", "log"]) {
          mkdirSync(join(folder, name));
          giveToServer(join(folder, name));
        }
        writeFileSync(join(folder, "rabbitmq.conf"), "loopback_users = none\nlog.console = true\nlog.file = false\n");
        writeFileSync(join(folder, "enabled_plugins"), "[].\n");
      },
      command: () => ({ program: script, args: [] }),
      env: (folder, port) => ({
        RABBITMQ_NODENAME: `ichido${port}@localhost`,
        RABBITMQ_NODE_IP_ADDRESS: "127.0.0.1",
        RABBITMQ_NODE_PORT: String(port),
        RABBITMQ_DIST_PORT: String(distributionPort),
        RABBITMQ_CONF_ENV_FILE: join(folder, "none"),
        RABBITMQ_CONFIG_FILE: join(folder, "rabbitmq.conf"),
        RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, "enabled_plugins"),
        RABBITMQ_MNESIA_BASE: join(folder, "data"),
        RABBITMQ_LOG_BASE: join(folder, "log"),
        RABBITMQ_PID_FILE: join(folder, "server.pid"),
        RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: "+S 2:2 +sbwt none",
        ERL_EPMD_PORT: String(names.port),
        ERL_EPMD_ADDRESS: "127.0.0.1",
        // The script then becomes the Erlang machine instead of waiting for it as its parent: the pid is the server's.
        detached: "true",
      }),
      url: (port) => `amqp://guest:guest@127.0.0.1:${port}`,
      ready: answersAmqp,
      afterwards: () => names.stop(),
    });
    return instance;
  } catch (error) {
    await names.stop();
    throw error;
  }
}

/** Erlang's name server outlives its nodes when they start it themselves; ours is a child with a pid. */
async function startPortMapper(): Promise<{ readonly port: number; stop(): Promise<void> }> {
  const port = await freePort();
  const child = spawn(requireProgram("rabbitmq", "epmd"), ["-port", String(port), "-address", "127.0.0.1"], {
    stdio: "ignore",
    detached: true,
    ...serverAccount(),
  });
  child.on("error", () => {});
  child.unref();
  const { pid } = child;
  if (pid === undefined) throw new ProgramMissing("rabbitmq", "epmd");
  const will = reapAfterDeath({ pid });
  return {
    port,
    stop: async () => {
      signal(pid, "SIGTERM");
      await gone([pid], 5_000);
      will.forget();
    },
  };
}
