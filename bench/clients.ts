/**
 * What HTTP clients do with a POST that carries an `Idempotency-Key`, through one table of faults: `npm run bench:clients`.
 * The server fails twice, then answers. A good row asks again under the same key until it has the whole answer.
 */
import axios from "axios";
import axiosRetry from "axios-retry";
import got from "got";
import ky from "ky";
import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient, memoryStorage } from "ichido/client";
import { Agent, interceptors, request } from "undici";

const failuresBefore = 2;
const answer = JSON.stringify({ id: 1, padding: "x".repeat(2_000) });
const order = { booking: "b-1", amount: 100 };
/** What a client must be told to retry, where it can be told. */
const statusCodes = [409, 429, 500, 502, 503, 504];
const giveUpMs = 30_000;

const faults = {
  "503 + Retry-After": (res: ServerResponse) => void res.writeHead(503, { "retry-after": "1" }).end(),
  "409 + Retry-After": (res: ServerResponse) => void res.writeHead(409, { "retry-after": "1" }).end(),
  "connection reset": (res: ServerResponse) => void res.socket?.resetAndDestroy(),
  "body cut in the middle": (res: ServerResponse) => {
    res.writeHead(201, { "content-type": "application/json", "content-length": Buffer.byteLength(answer) });
    res.write(answer.slice(0, answer.length / 2), () => setTimeout(() => res.socket?.destroy(), 20));
  },
} satisfies Record<string, (res: ServerResponse) => void>;
type Fault = keyof typeof faults;

interface Seen {
  readonly keys: Set<string>;
  readonly bodies: Set<string>;
  tries: number;
}

/** Gives the status and the text of the answer, read to its end. */
type Send = (
  url: string,
  headers: Record<string, string>,
) => Promise<{ readonly status: number; readonly text: string }>;

interface Subject {
  readonly title: string;
  readonly packages: readonly string[];
  readonly send: Send;
}

async function undiciSend(url: string, headers: Record<string, string>, agent: Agent, more = {}): ReturnType<Send> {
  const dispatcher = agent.compose(interceptors.retry({ maxRetries: 4, minTimeout: 50, ...more }));
  const body = JSON.stringify(order);
  const sent = await request(url, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body,
    dispatcher,
  });
  return { status: sent.statusCode, text: await sent.body.text() };
}

const withAgent = async <T>(work: (agent: Agent) => Promise<T>): Promise<T> => {
  const agent = new Agent();
  try {
    return await work(agent);
  } finally {
    await agent.destroy();
  }
};

async function kySend(url: string, headers: Record<string, string>, throwHttpErrors: boolean): ReturnType<Send> {
  const retry = { limit: 4, methods: ["post"], statusCodes, afterStatusCodes: statusCodes };
  const sent = await ky.post(url, { json: order, headers, retry, throwHttpErrors });
  return { status: sent.status, text: await sent.text() };
}

const subjects: readonly Subject[] = [
  {
    title: "fetch",
    packages: [],
    async send(url, headers) {
      const sent = await fetch(url, { method: "POST", headers, body: JSON.stringify(order) });
      return { status: sent.status, text: await sent.text() };
    },
  },
  {
    title: "undici retry, defaults",
    packages: ["undici"],
    send: (url, headers) => withAgent((agent) => undiciSend(url, headers, agent)),
  },
  {
    title: "undici retry, POST and 409 allowed",
    packages: ["undici"],
    send: (url, headers) => withAgent((agent) => undiciSend(url, headers, agent, { methods: ["POST"], statusCodes })),
  },
  { title: "ky, POST and 409 allowed", packages: ["ky"], send: (url, headers) => kySend(url, headers, true) },
  {
    title: "ky, the same with throwHttpErrors: false",
    packages: ["ky"],
    send: (url, headers) => kySend(url, headers, false),
  },
  {
    title: "got, POST and 409 allowed",
    packages: ["got"],
    async send(url, headers) {
      const retry = { limit: 4, methods: ["POST" as const], statusCodes };
      const sent = await got.post(url, { json: order, headers, retry, throwHttpErrors: false });
      return { status: sent.statusCode, text: sent.body };
    },
  },
  {
    title: "axios + axios-retry, POST and 409 allowed",
    packages: ["axios", "axios-retry"],
    async send(url, headers) {
      const instance = axios.create();
      axiosRetry(instance, {
        retries: 4,
        retryDelay: (count, error) => axiosRetry.exponentialDelay(count, error),
        retryCondition: (error) =>
          axiosRetry.isNetworkError(error) || statusCodes.includes(error.response?.status ?? 0),
      });
      const sent = await instance.post<string>(url, order, {
        headers,
        responseType: "text",
        transformResponse: (text) => text,
      });
      return { status: sent.status, text: sent.data };
    },
  },
  {
    title: "ichido/client, defaults",
    packages: [],
    async send(url) {
      const client = createClient({ storage: memoryStorage() });
      const sent = await client.post(url, { attempt: await client.createAttempt("pay", order), json: order });
      if (sent.answer === undefined) throw new Error(`${sent.kind}: ${String(sent.kind === "unknown" && sent.reason)}`);
      return { status: sent.answer.status, text: sent.answer.text() };
    },
  },
];

const seen = new Map<string, Seen>();
const server = createServer((req, res) => {
  let body = "";
  req.on("data", (bytes) => (body += String(bytes)));
  req.on("end", () => {
    const url = new URL(req.url ?? "", "http://bench");
    const here = seen.get(url.pathname) ?? { keys: new Set(), bodies: new Set(), tries: 0 };
    seen.set(url.pathname, here);
    here.tries += 1;
    here.keys.add(String(req.headers["idempotency-key"]));
    here.bodies.add(body);
    const fault = faults[url.searchParams.get("fault") as Fault];
    if (here.tries <= failuresBefore) fault(res);
    else res.writeHead(201, { "content-type": "application/json" }).end(answer);
  });
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const { port } = server.address() as AddressInfo;

async function tryOut(subject: Subject, fault: Fault, at: string): Promise<string> {
  const url = `http://127.0.0.1:${port}/${at}?fault=${encodeURIComponent(fault)}`;
  let timer: NodeJS.Timeout | undefined;
  const outcome = await Promise.race([
    subject.send(url, { "idempotency-key": crypto.randomUUID() }).then(
      ({ status, text }) =>
        status === 201 ? (text === answer ? "ok" : "**part of the answer**") : `returns ${status}`,
      (error: unknown) => `**error** (${(error as { code?: string }).code ?? (error as Error).name})`,
    ),
    new Promise<string>((resolve) => {
      timer = setTimeout(() => resolve("**no end**"), giveUpMs);
    }),
  ]);
  clearTimeout(timer);
  const { keys, bodies, tries } = seen.get(`/${at}`) ?? { keys: new Set(), bodies: new Set(), tries: 0 };
  const strange = keys.size > 1 ? ", **other keys**" : bodies.size > 1 ? ", **other bodies**" : "";
  return `${outcome}, ${tries === 1 ? "1 try" : `${tries} tries`}${strange}`;
}

function versionOf(name: string): string {
  for (const folder of ["../node_modules", "node_modules"]) {
    try {
      const text = readFileSync(new URL(`${folder}/${name}/package.json`, import.meta.url), "utf8");
      return `${name} ${(JSON.parse(text) as { version: string }).version}`;
    } catch {
      // Installed in the other folder.
    }
  }
  return name;
}

const names = Object.keys(faults) as Fault[];
console.log(`| client | ${names.join(" | ")} |\n|---|${"---|".repeat(names.length)}`);
for (const [index, subject] of subjects.entries()) {
  const cells = await Promise.all(names.map((fault, column) => tryOut(subject, fault, `${index}-${column}`)));
  console.log(`| ${subject.title} | ${cells.join(" | ")} |`);
}
const versions = [...new Set(subjects.flatMap(({ packages }) => packages))].map(versionOf);
console.log(`\nNode ${process.versions.node}, ${versions.join(", ")}; ${new Date().toISOString().slice(0, 10)}`);
server.closeAllConnections();
server.close();
