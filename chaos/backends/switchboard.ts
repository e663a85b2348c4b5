/** One address for a server whose place changes: after a failover it leads to another port. */
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface Switchboard {
  readonly port: number;
  /** Leads there from now on. Lines to the former server are cut. */
  lead(port: number): void;
  close(): Promise<void>;
}

export async function openSwitchboard(first: number): Promise<Switchboard> {
  const sockets = new Set<Socket>();
  let target = first;
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => {});
    return socket.on("close", () => sockets.delete(socket));
  };
  const server = createServer((inbound) => {
    const outbound = keep(connect(target, "127.0.0.1"));
    keep(inbound).pipe(outbound).pipe(inbound);
    inbound.on("close", () => outbound.destroy());
    outbound.on("close", () => inbound.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    lead(port) {
      target = port;
      cut();
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}

/** The same address with another port. */
export function through(url: string, { port }: { readonly port: number }): string {
  const other = new URL(url);
  other.port = String(port);
  return other.href;
}
