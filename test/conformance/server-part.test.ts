import { once } from "node:events";
import * as http from "node:http";
import * as https from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { ConnectionOptions } from "node:tls";
import { fromServer } from "ichido/node";
import { expect, test } from "vitest";

const secret = Buffer.alloc(32, 7);
/** By a shared secret: no certificate is needed, and none is checked. */
const psk = { ciphers: "PSK", minVersion: "TLSv1.2", maxVersion: "TLSv1.2" } as const;
const serverTls: https.ServerOptions = { ...psk, pskCallback: () => secret };
const clientTls: ConnectionOptions = {
  ...psk,
  pskCallback: () => ({ psk: secret, identity: "test" }),
  checkServerIdentity: () => undefined,
};

test.each(["http", "https"] as const)(
  "over %s a server that is drained lets the answer under way go out",
  async (scheme) => {
    const handler: http.RequestListener = (_request, response) => void sleep(300).then(() => response.end("done"));
    const server = scheme === "http" ? http.createServer(handler) : https.createServer(serverTls, handler);
    const part = fromServer(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const { request } = scheme === "http" ? http : https;
    const asked = request({ port, host: "127.0.0.1", ...(scheme === "https" && clientTls) });
    asked.end();
    const answered = once(asked, "response") as Promise<[http.IncomingMessage]>;
    await once(server, "request");
    expect(part.health()).toEqual({ inFlight: 1 });
    const stopped = part.stop({ drainMs: 10_000 });
    const [response] = await answered;
    expect(await response.setEncoding("utf8").toArray()).toEqual(["done"]);
    await stopped;
    expect(part.health()).toEqual({ inFlight: 0 });
  },
);
