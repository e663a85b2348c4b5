import { expect, test } from "vitest";
import type { Presenter } from "../contract/decision.ts";
import { createRendering } from "./rendering.ts";

const answer = { status: 201, body: { id: 1, secret: "x" } };
const written = { status: 201, headers: [], body: new TextEncoder().encode('{"id":1}') };
const kept = { kind: "send", addHeaders: [] } as const;

function rendering(present?: Presenter["present"]) {
  return createRendering({ presenter: present && { present } });
}

test("where no framework serialises, the value itself is", async () => {
  const alone = rendering();
  expect(new TextDecoder().decode((await alone.render(answer)).body)).toBe('{"id":1,"secret":"x"}');
  expect(alone.take({ kind: "answered", response: written })).toBeUndefined();
  const unable = rendering(() => false);
  expect((await unable.render(answer)).status).toBe(201);
  // Nothing was rendered, so nobody waits for the end of it.
  unable.end(() => expect.unreachable());
});

test("what the framework writes is stored, and sent when it is known what became of it", async () => {
  const whole = rendering(() => true);
  const rendered = whole.render(answer);
  await Promise.resolve();
  const settled = whole.take({ kind: "answered", response: written });
  expect(await rendered).toEqual(written);
  expect(whole.take({ kind: "answered", response: written })).toBeUndefined();
  whole.end(() => kept);
  expect(await settled).toEqual(kept);
  await expect(whole.render(answer)).rejects.toMatchObject({ code: "usage-invalid" });
});

test("a framework that answers an error in its place undoes the transaction", async () => {
  const broken = rendering(() => true);
  const rendered = broken.render(answer);
  await Promise.resolve();
  expect(broken.take({ kind: "answered", response: { ...written, status: 500 } })).toBeUndefined();
  await expect(rendered).rejects.toMatchObject({ code: "transaction-aborted" });
});

test("a refusal that was returned is no error of the framework, and a throw is the handler's own", async () => {
  const refusing = rendering(() => true);
  const rendered = refusing.render({ status: 422, body: {} });
  await Promise.resolve();
  expect(refusing.take({ kind: "threw", error: new Error("later") } as never)).toBeUndefined();
  void refusing.take({ kind: "answered", response: { ...written, status: 422 } });
  expect((await rendered).status).toBe(422);
});

test.each([undefined, null, {}, { status: 99 }])("an answer needs a final status: %j", async (wrong) => {
  await expect(rendering().render(wrong as never)).rejects.toMatchObject({ code: "usage-invalid" });
});
