/**
 * Whether a server does its work for a client with these credentials. An open port proves nothing: it may belong to
 * another program, ask for a password, or accept before it serves. Each handshake therefore goes as far as a first answer.
 */
import { connect } from "node:net";

export const handshakeMs = 2_000;

/** Talks over one socket: `next` waits until `enough` finds what it needs in the bytes received so far. */
async function converse<T>(
  url: string,
  talk: (line: {
    readonly send: (bytes: string | Buffer) => void;
    readonly next: (enough: (received: Buffer) => boolean) => Promise<Buffer>;
  }) => Promise<T>,
): Promise<T> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  let received = Buffer.alloc(0);
  let failure: Error | undefined;
  let wake: (() => void) | undefined;
  socket.on("data", (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    wake?.();
  });
  const fail = (error: Error): void => {
    failure ??= error;
    wake?.();
  };
  socket.on("error", fail);
  socket.on("close", () => fail(new Error(`${hostname}:${port} closed the connection`)));
  const timer = setTimeout(
    () => fail(new Error(`${hostname}:${port} did not answer within ${handshakeMs} ms`)),
    handshakeMs,
  );
  try {
    return await talk({
      send: (bytes) => socket.write(bytes),
      next: async (enough) => {
        while (!enough(received)) {
          if (failure !== undefined) throw failure;
          await new Promise<void>((resolve) => (wake = resolve));
        }
        const answer = received;
        received = Buffer.alloc(0);
        return answer;
      },
    });
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

export async function answersPostgres(url: string): Promise<boolean> {
  const { Client } = (await import("pg")).default;
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: handshakeMs,
    query_timeout: handshakeMs,
  });
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ recovering: boolean }>("SELECT pg_is_in_recovery() AS recovering");
    return rows[0]?.recovering === false;
  } finally {
    await client.end().catch(() => {});
  }
}

export async function answersMariadb(url: string): Promise<boolean> {
  const { createConnection } = await import("mysql2/promise");
  const connection = await createConnection({ uri: url, connectTimeout: handshakeMs });
  connection.on("error", () => {});
  try {
    await connection.query({ sql: "SELECT 1", timeout: handshakeMs });
    return true;
  } finally {
    connection.destroy();
  }
}

export async function answersRedis(url: string): Promise<boolean> {
  const { password, username } = new URL(url);
  return converse(url, async ({ send, next }) => {
    if (password !== "") {
      send(`AUTH ${username === "" ? "" : `${decodeURIComponent(username)} `}${decodeURIComponent(password)}\r\n`);
      if (!String(await next((bytes) => bytes.includes("\r\n"))).startsWith("+OK")) return false;
    }
    send("PING\r\n");
    return String(await next((bytes) => bytes.includes("\r\n"))).startsWith("+PONG");
  });
}

/** JetStream is required: plain NATS forgets what nobody listens to. */
export async function answersNats(url: string): Promise<boolean> {
  return converse(url, async ({ send, next }) => {
    const greeting = String(await next((bytes) => bytes.includes("\r\n")));
    if (!greeting.startsWith("INFO ") || !greeting.includes('"jetstream":true')) return false;
    const { username, password } = new URL(url);
    const credentials =
      username === "" ? {} : { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
    send(
      `CONNECT ${JSON.stringify({ verbose: false, pedantic: false, lang: "handshake", version: "1", ...credentials })}\r\nPING\r\n`,
    );
    return String(await next((bytes) => bytes.includes("\r\n"))).includes("PONG");
  });
}

function methodFrame(classId: number, methodId: number, ...args: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16BE(classId, 0);
  head.writeUInt16BE(methodId, 2);
  const payload = Buffer.concat([head, ...args]);
  const frame = Buffer.alloc(7);
  frame.writeUInt8(1, 0);
  frame.writeUInt32BE(payload.length, 3);
  return Buffer.concat([frame, payload, Buffer.from([0xce])]);
}

function shortString(text: string): Buffer {
  return Buffer.concat([Buffer.from([Buffer.byteLength(text)]), Buffer.from(text)]);
}

function longString(text: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(Buffer.byteLength(text));
  return Buffer.concat([length, Buffer.from(text)]);
}

function isWholeFrame(bytes: Buffer): boolean {
  return bytes.length >= 8 && bytes.length >= 8 + bytes.readUInt32BE(3);
}

function isConnectionMethod(frame: Buffer, methodId: number): boolean {
  return frame.length >= 11 && frame[0] === 1 && frame.readUInt16BE(7) === 10 && frame.readUInt16BE(9) === methodId;
}

/** AMQP 0-9-1 up to Connection.Open-Ok: the broker accepted the account and the virtual host. */
export async function answersAmqp(url: string): Promise<boolean> {
  const { username, password } = new URL(url);
  return converse(url, async ({ send, next }) => {
    send(Buffer.from([0x41, 0x4d, 0x51, 0x50, 0, 0, 9, 1]));
    if (!isConnectionMethod(await next(isWholeFrame), 10)) return false;
    const response = `\0${decodeURIComponent(username || "guest")}\0${decodeURIComponent(password || "guest")}`;
    send(methodFrame(10, 11, longString(""), shortString("PLAIN"), longString(response), shortString("en_US")));
    const tune = await next(isWholeFrame);
    if (!isConnectionMethod(tune, 30)) return false;
    send(methodFrame(10, 31, tune.subarray(11, 19)));
    send(methodFrame(10, 40, shortString("/"), shortString(""), Buffer.from([0])));
    return isConnectionMethod(await next(isWholeFrame), 41);
  });
}
