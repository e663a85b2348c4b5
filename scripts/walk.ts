/**
 * `npm run walk [-- --database URL]`: starts the shop, sends one POST /payments, and prints the files of the package whose
 * functions ran for it, by room, as V8 counted the calls. What runs in an idle shop too (relay, ticks) is left out.
 */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const sources = join(root, "packages/ichido/src");
const { values } = parseArgs({ options: { database: { type: "string" } } });

interface Coverage {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly functionName: string; readonly ranges: readonly { count: number }[] }[];
  }[];
}

/** Calls by file of the package, and in it by function. */
type Calls = Map<string, Map<string, number>>;

interface Inspector {
  readonly ask: (method: string, params?: object) => Promise<unknown>;
  /** A process does not end while it is inspected. */
  readonly close: () => void;
}

/** The inspector of a process, one question at a time. */
async function inspect(url: string): Promise<Inspector> {
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve, { once: true });
    socket.addEventListener("error", () => reject(new Error(`the inspector at ${url} does not answer`)), {
      once: true,
    });
  });
  let id = 0;
  const ask: Inspector["ask"] = (method, params = {}) =>
    new Promise((resolve) => {
      id += 1;
      const asked = id;
      socket.addEventListener("message", function hear({ data }) {
        const told = JSON.parse(String(data)) as { readonly id?: number; readonly result?: unknown };
        if (told.id !== asked) return;
        socket.removeEventListener("message", hear);
        resolve(told.result);
      });
      socket.send(JSON.stringify({ id: asked, method, params }));
    });
  return { ask, close: () => socket.close() };
}

function callsIn({ result }: Coverage): Calls {
  const calls: Calls = new Map();
  for (const { url, functions } of result) {
    const file = url.startsWith("file:") ? relative(sources, fileURLToPath(url)) : "..";
    if (file.startsWith("..")) continue;
    const counted = functions.map(({ functionName, ranges }) => [functionName, ranges[0]?.count ?? 0] as const);
    const ran = counted.filter(([, count]) => count > 0);
    if (ran.length > 0) calls.set(file, new Map(ran));
  }
  return calls;
}

async function pay(shop: string): Promise<void> {
  const answer = await fetch(`${shop}/payments`, {
    method: "POST",
    headers: {
      authorization: "Bearer demo-1",
      "idempotency-key": `"${randomUUID()}"`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ bookingId: randomUUID(), amount: 1200, currency: "JPY" }),
  });
  if (answer.status !== 201) throw new Error(`POST /payments was answered ${answer.status}: ${await answer.text()}`);
}

function print(calls: Calls, idle: Calls): void {
  const walked = [...calls.keys()].filter((file) => !idle.has(file)).toSorted();
  const rooms = Map.groupBy(walked, (file) => dirname(file));
  for (const [room, files] of rooms) {
    console.log(`${room} (${files.length})`);
    for (const file of files)
      console.log(
        `  ${file.slice(room.length + 1)}: ${[...(calls.get(file) ?? [])].map(([name]) => name || "(anonymous)").join(", ")}`,
      );
  }
  console.log(`${walked.length} files of the package`);
}

const folder = mkdtempSync(join(tmpdir(), "ichido-walk-"));
const environment: NodeJS.ProcessEnv = { ...process.env, PORT: "0", SHOP_DATA: folder };
if (values.database !== undefined) environment["DATABASE_URL"] = values.database;
const flags = ["--inspect=127.0.0.1:0", "--conditions=ichido-source", "--disable-warning=ExperimentalWarning"];
const shop = spawn(process.execPath, [...flags, join(root, "apps/shop/src/main.ts")], {
  env: environment,
  stdio: ["ignore", "pipe", "pipe"],
});
const ended = new Promise<never>((_resolve, reject) => {
  shop.once("exit", (code) => reject(new Error(`the shop ended with ${code}`)));
});
const lineWith = (stream: NodeJS.ReadableStream, pattern: RegExp): Promise<string> =>
  new Promise((resolve) => {
    createInterface({ input: stream }).on("line", (line) => {
      const found = pattern.exec(line)?.[1];
      if (found !== undefined) resolve(found);
    });
  });
let inspector: Inspector | undefined;
try {
  const found = [lineWith(shop.stderr, /listening on (ws:\S+)/), lineWith(shop.stdout, /^shop ready (\S+)/)];
  const [inspectorUrl = "", url = ""] = await Promise.race([Promise.all(found), ended]);
  inspector = await inspect(inspectorUrl);
  const { ask } = inspector;
  const taken = async (): Promise<Calls> => callsIn((await ask("Profiler.takePreciseCoverage")) as Coverage);
  await ask("Profiler.enable");
  await ask("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  // The first one opens what later ones find open.
  await pay(url);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  await taken();
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const idle = await taken();
  await pay(url);
  print(await taken(), idle);
} finally {
  inspector?.close();
  shop.removeAllListeners("exit");
  const gone = new Promise((resolve) => shop.once("exit", resolve));
  shop.kill("SIGTERM");
  await gone;
  rmSync(folder, { recursive: true, force: true });
}
process.exit(0);
