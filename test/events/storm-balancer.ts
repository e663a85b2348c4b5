/** In front of webhook receivers that come and go: gives each connection to one that lives. */
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface Balancer {
  readonly url: string;
  add(port: number): void;
  remove(port: number): void;
  /** Cuts every connection and lets no new one through for so long. */
  interrupt(ms: number): Promise<void>;
  close(): Promise<void>;
}

export async function startBalancer(): Promise<Balancer> {
  const ports = new Set<number>();
  const sockets = new Set<Socket>();
  let shut = false;
  let turn = 0;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  };
  const server = createServer((inbound) => {
    keep(inbound);
    turn += 1;
    const port = [...ports][turn % Math.max(1, ports.size)];
    if (shut || port === undefined) return void inbound.destroy();
    const outbound = connect(port, "127.0.0.1");
    keep(outbound);
    inbound.pipe(outbound).pipe(inbound);
    inbound.on("close", () => outbound.destroy());
    outbound.on("close", () => inbound.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/storm`,
    add: (port) => void ports.add(port),
    remove: (port) => void ports.delete(port),
    async interrupt(ms) {
      shut = true;
      cut();
      await new Promise((resolve) => setTimeout(resolve, ms));
      shut = false;
    },
    async close() {
      cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
