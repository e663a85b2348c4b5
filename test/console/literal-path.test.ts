/** A console is where it is mounted, and nowhere that becomes it by normalising: a rule in front reads what was sent. */
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { console as consoleOf } from "ichido/console";
import { memoryStore } from "ichido/memory";

test("paths that a browser would make the mount of are not the console, and none of them is a fault", async () => {
  const open = consoleOf(
    { store: memoryStore() },
    { authorize: () => ({ user: "ann", can: ["read"] }), at: "/console" },
  );
  const server = createServer(open).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const statusOf = async (path: string): Promise<number> => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    request({ host: "127.0.0.1", port, path }, (response) => resolve(response.resume().statusCode ?? 0))
      .on("error", reject)
      .end();
    return promise;
  };
  const paths = [
    "//evil/console/api/session",
    "/\\evil/console/api/session",
    "/x/%2e%2e/console/api/session",
    "/x/../console/api/session",
    "http://evil/console/api/session",
    "//",
  ];
  try {
    expect(await statusOf("/console/api/session")).toBe(200);
    const found = await Promise.all(paths.map(async (path) => [path, await statusOf(path)]));
    expect(found).toEqual(paths.map((path) => [path, 404]));
  } finally {
    open.close();
    server.closeAllConnections();
    server.close();
  }
});
