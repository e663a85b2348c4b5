import { expect, test } from "vitest";
import { memoryStore } from "../../stores/memory/index.ts";
import { createIchido } from "./create-ichido.ts";
import type { IchidoEvent } from "../contract/events.ts";
import type { IchidoOptions, VerifyAnswer } from "../contract/options.ts";
import { createConsoleLink, linkOf } from "./console-link.ts";
import { createReconciler } from "./reconciler.ts";
import { createOperationIds } from "../request/operation-id.ts";
import { createRecordHandles } from "../request/record-handle.ts";

const scope = { tenant: "acme", principal: "cus_42" };
const key = "6f1c2b1e-8a44-4a5e-9d0e-5d2b8f3c7a10";
const secret = "a secret of thirty-two characters";

async function eventsOf(options: Partial<IchidoOptions<unknown>>) {
  const events: IchidoEvent[] = [];
  const lines: Record<string, unknown>[] = [];
  const write = (fields: Readonly<Record<string, unknown>>): void => void lines.push(fields);
  const ichido = createIchido({
    store: memoryStore(),
    scope: () => scope,
    onUnknown: "hold",
    onEvent: (event) => events.push(event),
    logger: { debug: write, info: write, warn: write, error: write },
    ...options,
  } as IchidoOptions<unknown>);
  const run = (fn: () => unknown): Promise<unknown> =>
    ichido.run({ operation: "pay", scope, key }, fn).then(
      (value) => value,
      (error: unknown) => error,
    );
  const refusals = [await run(() => Promise.reject(new Error("no answer"))), await run(() => 1)];
  await ichido.close();
  return { ichido, requests: events.filter(({ type }) => type === "request"), lines, refusals };
}

test("the event and the log line of every open outcome carry the link to its record, and no answer does", async () => {
  const { ichido, requests, lines, refusals } = await eventsOf({
    consoleUrl: "https://ops.example/console/",
    operationIdSecret: secret,
  });
  const links = requests.map((event) => ("console" in event ? event.console : undefined));
  expect(links).toHaveLength(2);
  const [link = ""] = links;
  expect(links).toEqual([link, link]);
  expect(link).toMatch(/^https:\/\/ops\.example\/console\/#\/keys\/[\w-]+$/);
  expect(lines.filter((line) => line["console"] === link)).toHaveLength(2);
  expect(String(refusals.map((each) => JSON.stringify(each) + String(each)))).not.toContain("ops.example");
  const handle = link.split("/").at(-1) ?? "";
  expect(linkOf(ichido).handles.open(handle)?.key).toBe(key);
});

test.each([
  ["waiting", (): VerifyAnswer => ({ verdict: "not-visible-yet" }), true],
  ["released", (): VerifyAnswer => ({ verdict: "absent" }), false],
] as const)("a reconciler that leaves an outcome open links to its record: %s", async (outcome, verify, isLinked) => {
  const ichido = createIchido({
    store: memoryStore(),
    scope: () => scope,
    onUnknown: "hold",
    consoleUrl: "https://ops.example/console",
    operationIdSecret: secret,
  });
  await ichido
    .run({ operation: "pay", scope, key, onUnknown: { verify } }, () => Promise.reject(new Error()))
    .catch(() => 0);
  const events: IchidoEvent[] = [];
  const reconciler = createReconciler(ichido, {
    operations: { pay: { verify } },
    olderThanMs: 0,
    onEvent: (event) => events.push(event),
  });
  await reconciler.tick();
  await ichido.close();
  const [told] = events.filter(({ type }) => type === "reconciled");
  expect(told).toMatchObject({ outcome });
  expect(Object.hasOwn(told ?? {}, "console")).toBe(isLinked);
});

test("without consoleUrl no event has a link", async () => {
  const { requests } = await eventsOf({});
  expect(requests.some((event) => "console" in event)).toBe(false);
});

test.each(["ops.example", "ftp://ops.example", "https://ops.example/?a=1", ""])(
  "consoleUrl %s is refused",
  async (consoleUrl) => {
    await expect(eventsOf({ consoleUrl })).rejects.toThrow(/option consoleUrl: expected an http or https address/);
  },
);

test("consoleUrl needs the secret that seals its links", async () => {
  await expect(eventsOf({ consoleUrl: "https://ops.example/console" })).rejects.toThrow(
    /option consoleUrl: expected operationIdSecret beside it/,
  );
});

test("without a secret a handle leads back in this process, and nobody opens it by what the source says", () => {
  const record = { key: key as never, scopeHash: new Uint8Array(32).fill(7) };
  const handles = createRecordHandles(undefined);
  const handle = handles.of(record);
  expect(handles.open(handle)).toEqual(record);
  expect(createRecordHandles(undefined).open(handle)).toBeUndefined();
  for (const known of ["ichido-console-1 ", "ichido-console-1 undefined", ""])
    expect(createOperationIds(known).open(handle, { tenant: undefined, principal: undefined })).toBeUndefined();
});

test.each(["", "/", "//"])(
  "a link has one slash between console and record, whatever consoleUrl ends with: %j",
  (end) => {
    const record = { key: key as never, scopeHash: new Uint8Array(32).fill(7) };
    const address = createConsoleLink(`https://ops.example/console${end}`, secret, true).of(record);
    expect(address).toMatch(/^https:\/\/ops\.example\/console\/#\/keys\//);
  },
);

test("a handle is the same in every process with the secret, and tells nothing of the key", () => {
  const record = { key: key as never, scopeHash: new Uint8Array(32).fill(7) };
  const handle = createRecordHandles(secret).of(record);
  expect(createRecordHandles(secret).of(record)).toBe(handle);
  expect(createRecordHandles(secret).open(handle)).toEqual(record);
  expect(Buffer.from(handle, "base64url").toString("latin1")).not.toContain(key.slice(0, 6));
  for (const other of [createRecordHandles(undefined), createRecordHandles(`${secret}!`)])
    expect(other.open(handle)).toBeUndefined();
  const changed = `${handle.slice(0, -1)}${handle.endsWith("A") ? "B" : "A"}`;
  expect(createRecordHandles(secret).open(changed)).toBeUndefined();
});
