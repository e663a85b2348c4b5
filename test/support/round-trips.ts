/** A look at the wire to PostgreSQL: how often a client had to wait for the server. */
import { connect, createServer } from "node:net";
import type { AddressInfo } from "node:net";

export interface Wire {
  /** The address to connect to instead. */
  readonly url: string;
  during(work: () => Promise<unknown>): Promise<number>;
  close(): void;
}

/** Counts how often the client spoke after the server had: each is one trip to the server and back. */
export async function countTrips(url: string): Promise<Wire> {
  const target = new URL(url);
  let trips = 0;
  const listener = createServer({ noDelay: true }, (client) => {
    const server = connect({ host: target.hostname, port: Number(target.port || 5432), noDelay: true });
    let speaker = "server";
    client.on("data", (chunk) => {
      if (speaker === "server") trips += 1;
      speaker = "client";
      server.write(chunk);
    });
    server.on("data", (chunk) => {
      speaker = "server";
      client.write(chunk);
    });
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const through = new URL(url);
  through.hostname = "127.0.0.1";
  through.port = `${(listener.address() as AddressInfo).port}`;
  return {
    url: through.href,
    async during(work: () => Promise<unknown>): Promise<number> {
      const before = trips;
      await work();
      return trips - before;
    },
    close: () => listener.close(),
  };
}
