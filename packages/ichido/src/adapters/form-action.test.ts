import { afterEach, describe, expect, expectTypeOf, it } from "vitest";
import { createIchido } from "../core/engine/create-ichido.ts";
import { memoryStore } from "../stores/memory/index.ts";
import { idempotentAction, type FormAction } from "./fetch.ts";

const ichido = createIchido<never>({
  store: memoryStore(),
  scope: () => ({ principal: "u" }),
  onUnknown: "rerun",
  inFlight: { waitMs: 5_000 },
});
const scope = (): { principal: string } => ({ principal: "u" });
let ran: string[] = [];
afterEach(() => {
  ran = [];
});

const pay = async (form: FormData): Promise<{ id: string; number: number }> => {
  ran.push(form.get("amount") as string);
  await new Promise((resolve) => setTimeout(resolve, 20));
  return { id: crypto.randomUUID(), number: ran.length };
};
const action = idempotentAction(ichido, { operation: "payment.create", scope, inFlight: { waitMs: 5_000 } }, pay);

function formOf(fields: readonly (readonly [string, string | File])[], key?: string): FormData {
  const form = new FormData();
  if (key !== undefined) form.append("idempotencyKey", key);
  for (const [name, value] of fields) form.append(name, value);
  return form;
}
const key = (): string => crypto.randomUUID();
const scan = (content: string, name = "a.txt"): File => new File([content], name, { type: "text/plain" });

describe("idempotentAction", () => {
  it("K-02 runs once per submission and gives the same value again", async () => {
    const one = key();
    const first = await action(formOf([["amount", "100"]], one));
    expect(await action(formOf([["amount", "100"]], one))).toEqual(first);
    expect(ran).toEqual(["100"]);
    expect((await action(formOf([["amount", "100"]], key()))).id).not.toBe(first.id);
    expectTypeOf(action).toEqualTypeOf<(form: FormData) => Promise<{ id: string; number: number }>>();
  });

  it("C-01 two submissions at once run it once, and both get its value", async () => {
    const one = key();
    const [a, b] = await Promise.all([action(formOf([["amount", "1"]], one)), action(formOf([["amount", "1"]], one))]);
    expect(a).toEqual(b);
    expect(ran).toEqual(["1"]);
  });

  it("C-01 without waiting, the second of two at once is told that the first runs", async () => {
    const at = idempotentAction(ichido, { operation: "at-once", scope, inFlight: "conflict" }, pay);
    const one = key();
    const both = await Promise.allSettled([at(formOf([], one)), at(formOf([], one))]);
    expect(both.map((each) => (each.status === "fulfilled" ? "done" : (each.reason as { code: string }).code))).toEqual(
      expect.arrayContaining(["done", "idempotency-in-flight"]),
    );
    expect(ran).toHaveLength(1);
  });

  it("F-01 other fields or files under the same key are refused; their order does not matter", async () => {
    const one = key();
    const fields = [
      ["amount", "100"],
      ["scan", scan("x")],
    ] as const;
    const first = await action(formOf(fields, one));
    expect(await action(formOf(fields.toReversed(), one))).toEqual(first);
    for (const other of [
      [["amount", "200"], fields[1]],
      [fields[0], ["scan", scan("y")]],
      [fields[0], ["scan", scan("x", "b.txt")]],
      [fields[0], ["scan", "x"]],
      [fields[0]],
      [...fields, ["more", "1"]],
      [...fields, ["amount", "100"]],
    ] as const) {
      await expect(action(formOf(other, one))).rejects.toMatchObject({ code: "idempotency-key-reused" });
    }
    expect(ran).toEqual(["100"]);
  });

  it("K-03 H-05 a form without its key, or with an unsound one, is an error that says what to do", async () => {
    await expect(action(formOf([["amount", "1"]]))).rejects.toMatchObject({
      code: "idempotency-key-required",
      message: 'payment.create: the form has no field "idempotencyKey"; render <IdempotencyField /> inside the form',
    });
    await expect(action(formOf([], ""))).rejects.toMatchObject({
      code: "idempotency-key-invalid",
      message: expect.stringContaining("before the page's script ran") as string,
    });
    for (const unsound of [
      formOf([], "é"),
      formOf([["idempotencyKey", key()]], key()),
      formOf([["idempotencyKey", scan("k")]]),
    ]) {
      await expect(action(unsound)).rejects.toMatchObject({ code: "idempotency-key-invalid" });
    }
    await expect(action({ error: "state" } as never)).rejects.toMatchObject({
      code: "usage-invalid",
      message: expect.stringContaining("useActionState") as string,
    });
    expect(ran).toEqual([]);
  });

  it("S-01 holds the keys of two callers apart, by what the session says", async () => {
    let caller = "alice";
    const own = idempotentAction(
      ichido,
      { operation: "own", scope: async () => ({ principal: caller }), keyField: "k" },
      pay,
    );
    const form = formOf([["k", "one-key"]]);
    const first = await own(form);
    caller = "bob";
    expect((await own(form)).id).not.toBe(first.id);
    caller = "alice";
    expect(await own(form)).toEqual(first);
  });

  it("E-03 an action that failed may be submitted again, with its context and the same reference", async () => {
    const references: string[] = [];
    let fails = true;
    const flaky: FormAction<string> = (_form, idempotency) => {
      references.push(idempotency.reference("charge"));
      if (fails) throw new Error("declined by the network");
      return "paid";
    };
    const submit = idempotentAction(ichido, { operation: "flaky", scope }, flaky);
    const form = formOf([["amount", "1"]], key());
    await expect(submit(form)).rejects.toThrow("declined by the network");
    fails = false;
    expect(await submit(form)).toBe("paid");
    expect(new Set(references).size).toBe(1);
  });

  it("refuses unsound options when it is made", () => {
    expect(() => idempotentAction(ichido, { operation: "", scope }, pay)).toThrow(/operation/);
    expect(() => idempotentAction(ichido, { operation: "x", scope: undefined as never }, pay)).toThrow(/option scope/);
    expect(() => idempotentAction(ichido, { operation: "x", scope, keyField: "" }, pay)).toThrow(/option keyField/);
  });
});
