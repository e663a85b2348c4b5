/** workerd, the runtime of Cloudflare Workers, as a stranger among runtimes: no process of ours, no timers or chance at start. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire, stripTypeScriptTypes } from "node:module";
import { dirname, join, posix } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, type Instance } from "../../scripts/services/instance.ts";
import { root } from "./packed.ts";

const source = join(root, "packages", "ichido", "src");
const { exports } = JSON.parse(readFileSync(join(root, "packages", "ichido", "package.json"), "utf8")) as {
  readonly exports: Readonly<Record<string, string | { readonly "ichido-source": string }>>;
};
const entries = Object.values(exports).flatMap((each) =>
  typeof each === "string" ? [] : [each["ichido-source"].replace("./src/", "")],
);

/** Every module that the entry points need, as JavaScript. */
function modules(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const add = (path: string): void => {
    if (found.has(path)) return;
    const code = stripTypeScriptTypes(readFileSync(join(source, path), "utf8"));
    found.set(path, code);
    for (const [, target = ""] of code.matchAll(/(?:\bfrom|\bimport) "(\.[^"\n]+)"/g)) {
      add(posix.join(posix.dirname(path), target));
    }
  };
  entries.forEach(add);
  return found;
}

const worker = `
${entries.map((path) => `import "./${path}";`).join("\n")}
import { createIchido } from "./index.ts";
import { idempotent } from "./adapters/fetch.ts";
import { memoryStore } from "./stores/memory/index.ts";
let runs = 0;
const ichido = createIchido({ store: memoryStore(), scope: () => ({ principal: "p" }), onUnknown: "rerun" });
const pay = idempotent(ichido, { operation: "payment.create" }, async (request) => {
  runs += 1;
  return Response.json({ runs, paid: await request.json() }, { status: 201 });
});
export default { fetch: (request) => (request.method === "GET" ? new Response("up") : pay(request)) };
`;

function configOf(port: number, paths: readonly string[]): string {
  const list = ["worker.js", ...paths].map((path) => `(name = "${path}", esModule = embed "${path}")`).join(",\n");
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]
);
const main :Workerd.Worker = (modules = [${list}], compatibilityDate = "2026-09-01");
`;
}

const { default: program } = createRequire(import.meta.url)("workerd") as { readonly default: string };

describe("a Worker", () => {
  let instance: Instance;
  beforeAll(async () => {
    instance = await launch({
      name: "workerd",
      prepare(folder, port) {
        const all = modules();
        for (const [path, code] of [...all, ["worker.js", worker] as const]) {
          mkdirSync(dirname(join(folder, path)), { recursive: true });
          writeFileSync(join(folder, path), code);
        }
        writeFileSync(join(folder, "config.capnp"), configOf(port, [...all.keys()]));
      },
      command: (folder) => ({ program, args: ["serve", join(folder, "config.capnp")] }),
      url: (port) => `http://127.0.0.1:${port}`,
      ready: async (url) => (await fetch(url)).ok,
    });
  });
  afterAll(async () => {
    await instance?.stop();
  });

  it("imports every entry point, makes its engine at module level, runs once and replays", async () => {
    const pay = async (amount: number): Promise<readonly [number, string | null, unknown]> => {
      const response = await fetch(instance.url, {
        method: "POST",
        headers: { "idempotency-key": "k", "content-type": "application/json" },
        body: JSON.stringify({ amount }),
      });
      return [response.status, response.headers.get("idempotency-replayed"), await response.json()];
    };
    const first = { runs: 1, paid: { amount: 1 } };
    expect(await pay(1)).toEqual([201, null, first]);
    expect(await pay(1)).toEqual([201, "true", first]);
    expect(await pay(2)).toEqual([422, null, expect.objectContaining({ code: "idempotency-key-reused" })]);
  });
});
