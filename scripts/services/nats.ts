import { join } from "node:path";
import { requireProgram } from "./binaries.ts";
import { answersNats } from "./handshakes.ts";
import { launch } from "./instance.ts";
import type { Instance } from "./instance.ts";

/** NATS with JetStream on disk, so that a restart keeps its streams. */
export async function startNats(): Promise<Instance> {
  const server = requireProgram("nats", "nats-server");
  return launch({
    name: "nats",
    command: (folder, port) => ({
      program: server,
      args: ["-a", "127.0.0.1", "-p", String(port), "-js", "-sd", join(folder, "jetstream")],
    }),
    url: (port) => `nats://127.0.0.1:${port}`,
    ready: answersNats,
  });
}
