/** One connection through the fault proxy: a client's socket, a server's socket and a faulty link each way. */
import { connect } from "node:net";
import type { Socket } from "node:net";
import type { CutMatch, CutRule, CutRules, Direction } from "./cut-rules.ts";
import { Link, type Inspection, type LinkFaults } from "./fault-link.ts";

export interface ProxyFaults {
  readonly toServer?: LinkFaults;
  readonly toClient?: LinkFaults;
}

export interface ProxiedConnection {
  readonly id: number;
  readonly bytesToServer: number;
  readonly bytesToClient: number;
  /** Bytes of both directions that a delay, a stall or a black hole has met: none, and the faults did no harm. */
  readonly bytesDisturbed: number;
  /** For this connection alone, on top of those of the proxy. */
  faults(faults: ProxyFaults): void;
  reset(): void;
}

export interface Connection extends ProxiedConnection {
  /** The faults of the proxy changed. */
  changed(): void;
  /** Bytes were lost: it is of no use any more, whatever is healed. */
  readonly spoilt: boolean;
}

/** How long to wait for the answer of a server that got the pattern; after that it counts as having read it. */
const replyMs = 2_000;

export function proxyConnection(parts: {
  readonly id: number;
  readonly client: Socket;
  readonly target: { readonly host: string; readonly port: number };
  readonly faults: () => ProxyFaults;
  readonly look: ReturnType<CutRules["watcher"]>;
  readonly onCut: () => void;
  readonly onClose: () => void;
}): Connection {
  const { client, look } = parts;
  const { host, port } = parts.target;
  const server = connect({ host, port, allowHalfOpen: true, noDelay: true });
  let own: ProxyFaults = {};
  let dead = false;
  let answerCut: CutMatch | undefined;

  function faultsOf(direction: "toServer" | "toClient"): LinkFaults {
    return { ...parts.faults()[direction], ...own[direction], ...(dead ? { blackhole: true } : {}) };
  }

  function end(how: CutRule["how"]): void {
    if (how === "blackhole") {
      dead = true;
      changed();
      return;
    }
    toServer.stop();
    toClient.stop();
    for (const socket of [client, server]) {
      if (how === "end") socket.end();
      else socket.resetAndDestroy();
    }
  }

  function fire(match: CutMatch): void {
    parts.onCut();
    end(match.rule.how ?? "reset");
    match.fire();
  }

  function inspect(direction: Direction, chunk: Buffer): Inspection {
    if (direction === "to-client" && answerCut !== undefined) {
      const match = answerCut;
      answerCut = undefined;
      return { forward: Buffer.alloc(0), afterwards: () => fire(match) };
    }
    const match = look(direction, chunk);
    if (match === undefined) return { forward: chunk };
    const afterwards = (): void => fire(match);
    if (match.rule.place === "before") return { forward: chunk.subarray(0, Math.max(0, match.start)), afterwards };
    if (direction === "to-client") return { forward: chunk.subarray(0, match.end), afterwards };
    answerCut = match;
    setTimeout(() => {
      if (answerCut !== match) return;
      answerCut = undefined;
      fire(match);
    }, replyMs).unref();
    return { forward: chunk };
  }

  const toServer = new Link({
    from: client,
    to: server,
    faults: () => faultsOf("toServer"),
    inspect: (chunk) => inspect("to-server", chunk),
  });
  const toClient = new Link({
    from: server,
    to: client,
    faults: () => faultsOf("toClient"),
    inspect: (chunk) => inspect("to-client", chunk),
  });
  const spoilt = (): boolean => toServer.spoilt || toClient.spoilt;
  function changed(): void {
    toServer.changed();
    toClient.changed();
  }

  // When one side closes, the other is closed, too, unless the line is dead: then neither side may notice.
  let closed = 0;
  for (const [socket, other] of [
    [client, server],
    [server, client],
  ] as const) {
    socket.on("error", () => {
      if (!spoilt()) other.resetAndDestroy();
    });
    socket.on("close", () => {
      closed += 1;
      if (closed === 2) parts.onClose();
      else if (!spoilt() && !other.writableEnded) other.destroySoon();
    });
  }

  return {
    id: parts.id,
    get bytesToServer() {
      return toServer.bytes;
    },
    get bytesToClient() {
      return toClient.bytes;
    },
    get bytesDisturbed() {
      return toServer.disturbedBytes + toClient.disturbedBytes;
    },
    get spoilt() {
      return spoilt();
    },
    faults(next) {
      own = next;
      changed();
    },
    changed,
    reset: () => end("reset"),
  };
}
