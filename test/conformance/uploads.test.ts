/** Multipart uploads: compared by parts while they arrive, kept in a temporary file until their handler reads them. */
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import * as http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createIchido, type Ichido } from "ichido";
import { memoryStore } from "ichido/memory";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import {
  formOf,
  startUploads,
  uploadFrameworks,
  type Received,
  type UploadApp,
  type UploadFramework,
  type UploadSettings,
} from "./upload-apps.ts";
import { ask, connect, until, type Reply } from "./wire.ts";

const mebibyte = 1_048_576;
const folder = mkdtempSync(join(tmpdir(), "ichido-uploads-"));
const formerFolder = process.env["TMPDIR"];
process.env["TMPDIR"] = folder;
afterAll(() => {
  if (formerFolder === undefined) delete process.env["TMPDIR"];
  else process.env["TMPDIR"] = formerFolder;
  rmSync(folder, { recursive: true, force: true });
});

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Running extends UploadApp {
  readonly ichido: Ichido<unknown>;
  send(form: ReturnType<typeof formOf>, key?: string, agent?: http.Agent): Promise<Reply>;
}

async function start(
  framework: UploadFramework,
  settings: Partial<Omit<UploadSettings, "ichido">> = {},
): Promise<Running> {
  const ichido = createIchido<unknown>({
    store: memoryStore(),
    scope: () => ({ tenant: "t" }),
    onUnknown: "rerun",
    onEvent: () => undefined,
  });
  const app = await startUploads(framework, { uploadBytesMax: 8 * mebibyte, ...settings, ichido });
  closing.push(async () => {
    await app.close();
    await ichido.close();
  });
  return {
    ...app,
    ichido,
    send: (form, key = randomUUID(), agent) =>
      ask(app.port, {
        content: form.content,
        headers: { "content-type": form.type, "idempotency-key": key },
        ...(agent && { agent }),
      }),
  };
}

const receivedOf = ({ body }: Reply): Received => JSON.parse(body.toString()) as Received;
const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

/** Temporary files that this process has open; their names are gone already. */
const canSeeFiles = existsSync("/proc/self/fd");
function openSpools(): number {
  return readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(join(folder, "ichido-upload-"));
    } catch {
      return false;
    }
  }).length;
}

const file = randomBytes(3 * mebibyte);
const changed = Buffer.from(file);
changed[2 * mebibyte] = (changed[2 * mebibyte] ?? 0) ^ 1;

describe.each(uploadFrameworks)("A28 uploads in %s", (framework) => {
  it("A28 every byte reaches the handler; another boundary and order replay; one changed bit is refused", async () => {
    const app = await start(framework);
    for (const content of [Buffer.from("small"), file]) {
      const key = randomUUID();
      const form = formOf([
        ["amount", "100"],
        ["scan", content],
      ]);
      const first = await app.send(form, key);
      expect(first.status).toBe(201);
      expect(receivedOf(first)).toMatchObject({ bytes: form.content.length, sha256: sha256(form.content) });
      const again = formOf([
        ["scan", content],
        ["amount", "100"],
      ]);
      const second = await app.send(again, key);
      expect([second.status, second.headers["idempotency-replayed"]]).toEqual([201, "true"]);
      expect(second.body).toEqual(first.body);
      const other = formOf([
        ["amount", "100"],
        ["scan", content === file ? changed : Buffer.from("smaLl")],
      ]);
      expect((await app.send(other, key)).status).toBe(422);
    }
    expect(app.runs()).toBe(2);
  });

  it.runIf(canSeeFiles)("A28 the temporary file has no name, and is closed when the handler has read it", async () => {
    let during = -1;
    const app = await start(framework, {
      beforeRead: () => {
        during = openSpools();
        expect(readdirSync(folder)).toEqual([]);
      },
    });
    const form = formOf([["scan", file]]);
    const key = randomUUID();
    expect((await app.send(form, key)).status).toBe(201);
    expect(during).toBe(framework === "express behind its parser" ? 0 : 1);
    await until("the file is closed", () => openSpools() === 0);
    expect((await app.send(form, key)).headers["idempotency-replayed"]).toBe("true");
    await until("the file of the replay is closed", () => openSpools() === 0);
  });

  it("E-01 more than uploadBytesMax is 413 before anything is claimed, declared or not", async () => {
    const app = await start(framework, { uploadBytesMax: 2 * mebibyte });
    const key = randomUUID();
    const { content, type } = formOf([["scan", file]]);
    const headers = { "content-type": type, "idempotency-key": key };
    for (const framing of [{ "content-length": content.length }, { "transfer-encoding": "chunked" }]) {
      const request = http.request({ port: app.port, host: "127.0.0.1", method: "POST", agent: false });
      for (const [name, value] of Object.entries({ ...headers, ...framing })) request.setHeader(name, value);
      request.on("error", () => undefined);
      const answered = once(request, "response") as Promise<[http.IncomingMessage]>;
      request.end(content);
      const [response] = await answered;
      expect(response.statusCode).toBe(413);
      request.destroy();
    }
    expect(app.runs()).toBe(0);
    expect((await app.send(formOf([["scan", Buffer.from("less")]]), key)).status).toBe(201);
  });

  it("A02 a body that ends before its last boundary is unreadable, and claims nothing", async () => {
    const app = await start(framework);
    const key = randomUUID();
    const form = formOf([["scan", file]]);
    const cut = { ...form, content: form.content.subarray(0, form.content.length - 10) };
    const refused = await app.send(cut, key);
    expect([refused.status, (JSON.parse(refused.body.toString()) as { code: string }).code]).toEqual([
      400,
      "request-unreadable",
    ]);
    expect(app.runs()).toBe(0);
    expect((await app.send(form, key)).status).toBe(201);
  });

  it("A02 a client that stops half way claims nothing and leaves no file open", async () => {
    const app = await start(framework);
    const { content, type } = formOf([["scan", file]]);
    const head = `POST / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k1\r\nContent-Type: ${type}\r\nContent-Length: ${content.length}\r\n\r\n`;
    const socket = await connect(app.port, head);
    socket.write(content.subarray(0, 2 * mebibyte));
    await new Promise((resolve) => setTimeout(resolve, 200));
    socket.destroy();
    if (canSeeFiles) await until("the file is closed", () => openSpools() === 0);
    const retried = await app.send({ content, type }, '"k1"');
    expect([retried.status, app.runs()]).toEqual([201, 1]);
  });

  it("A28 a handler that does not look at the body leaves the connection usable and no file open", async () => {
    const app = await start(framework, { ignoresBody: true });
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    for (let each = 0; each < 3; each += 1) {
      expect((await app.send(formOf([["scan", file]]), randomUUID(), agent)).status).toBe(201);
    }
    agent.destroy();
    if (canSeeFiles) await until("the files are closed", () => openSpools() === 0);
  });

  it("in observe mode an upload past the bound reaches the handler whole", async () => {
    const app = await start(framework, { uploadBytesMax: 2 * mebibyte, enforce: false });
    const form = formOf([["scan", file]]);
    const { content, type } = form;
    const headers = { "content-type": type, "idempotency-key": randomUUID(), "transfer-encoding": "chunked" };
    const reply = await ask(app.port, { content, headers });
    expect(receivedOf(reply)).toMatchObject({ bytes: content.length, sha256: sha256(content) });
  });
});

const spooling = uploadFrameworks.filter((name) => name !== "express behind its parser");

describe.each(spooling)("A28 the temporary file in %s", (framework) => {
  it("that cannot be made is an error of the server, and the handler does not run", async () => {
    const app = await start(framework);
    process.env["TMPDIR"] = join(folder, "absent");
    try {
      const key = randomUUID();
      expect((await app.send(formOf([["scan", file]]), key)).status).toBe(500);
      expect((await app.send(formOf([["scan", Buffer.from("small")]]), key)).status).toBe(201);
      expect(app.runs()).toBe(1);
    } finally {
      process.env["TMPDIR"] = folder;
    }
  });
});

it("E-05 an upload outlives its client until the handler has read it", async () => {
  let go: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    go = resolve;
  });
  const app = await start("node", { beforeRead: () => gate });
  const { content, type } = formOf([["scan", file]]);
  const head = `POST / HTTP/1.1\r\nHost: x\r\nIdempotency-Key: "k"\r\nContent-Type: ${type}\r\nContent-Length: ${content.length}\r\n\r\n`;
  const socket = await connect(app.port, head);
  socket.write(content);
  await until("the handler runs", () => app.runs() === 1);
  socket.destroy();
  await new Promise((resolve) => setTimeout(resolve, 50));
  go();
  await until("the outcome is kept", async () => {
    const replayed = await app.send({ content, type }, '"k"');
    return replayed.status === 201 && receivedOf(replayed).bytes === content.length;
  });
  expect(app.runs()).toBe(1);
});
