/**
 * One look-up for all workers of a test run. Workers ask over loopback; a server is looked for, installed or started when
 * the first test asks for it, and ended with the run.
 */
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { findService, sharedNames } from "./find.ts";
import type { Found, SharedName } from "./find.ts";
import { install, serviceNames } from "./install.ts";
import type { ServiceName } from "./install.ts";

/** Where workers, and processes that tests start, find the host. */
export const hostVariable = "ICHIDO_TEST_SERVICES";

export type Answer = { readonly url: string } | { readonly reason: string };

export interface Host {
  readonly address: string;
  close(): Promise<void>;
}

export async function startHost(say: (line: string) => void): Promise<Host> {
  const found = new Map<SharedName, Promise<Found>>();
  let installing: Promise<unknown> = Promise.resolve();

  const shared = (name: SharedName): Promise<Found> => {
    const known = found.get(name) ?? findService(name, say);
    if (!found.has(name)) {
      found.set(name, known);
      void known.then((service) =>
        say(service.url === undefined ? `${name}: MISSING, ${service.reason}` : `${name}: ${service.how}`),
      );
    }
    return known;
  };
  const installed = async (name: ServiceName): Promise<Answer> => {
    // One after the other: apt-get refuses to run twice at a time.
    const turn = installing.then(() => install([name], say));
    installing = turn.catch(() => {});
    return turn.then(
      () => ({ url: "" }),
      (error: unknown) => ({ reason: error instanceof Error ? error.message : String(error) }),
    );
  };
  const answer = async (path: string): Promise<Answer | undefined> => {
    const [, verb, name] = path.split("/");
    const sharedName = sharedNames.find((candidate) => candidate === name);
    const serviceName = serviceNames.find((candidate) => candidate === name);
    if (verb === "shared" && sharedName !== undefined) {
      const service = await shared(sharedName);
      return service.url === undefined ? { reason: service.reason } : { url: service.url };
    }
    if (verb === "installed" && serviceName !== undefined) return installed(serviceName);
    return undefined;
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await answer(request.url ?? "");
    response.writeHead(body === undefined ? 404 : 200, { "content-type": "application/json", connection: "close" });
    response.end(JSON.stringify(body ?? {}));
  };
  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port for the service host");
  return {
    address: `http://127.0.0.1:${address.port}`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      const services = await Promise.all(found.values());
      const instances = services.flatMap((service) => ("instance" in service ? [service.instance] : []));
      await Promise.all(instances.map((instance) => instance.stop()));
    },
  };
}
