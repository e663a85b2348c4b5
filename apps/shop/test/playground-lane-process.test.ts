import { spawnSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { startBankChild } from "../src/bank/child.ts";
import { EventLog } from "../src/playground/event-log.ts";
import { startLaneProcess, type LaneProcess } from "../src/playground/lane-process.ts";
import { until } from "./support/poll.ts";
import { newFolder } from "./support/program.ts";

async function lane(): Promise<{ readonly child: LaneProcess; readonly log: EventLog }> {
  const folder = newFolder();
  const log = new EventLog(folder);
  onTestFinished(() => log.close());
  const bank = await startBankChild(`${folder}/bank.sqlite`, () => undefined, { announce: false });
  onTestFinished(() => bank.stop());
  const child = await startLaneProcess("unprotected", { folder, bankUrl: bank.url }, log);
  onTestFinished(() => child.stop());
  return { child, log };
}

function pay({ port }: LaneProcess): Promise<number | undefined> {
  return fetch(`http://127.0.0.1:${port}/payments`, {
    method: "POST",
    headers: { "content-type": "application/json", "playground-run": "tried" },
    body: JSON.stringify({ orderId: "order-1", amount: 4_200, currency: "EUR" }),
  }).then(
    ({ status }) => status,
    () => undefined,
  );
}

describe("a lane under supervision", () => {
  it("says when something happened: a supervisor that hears of it late does not make it late", async () => {
    const { child, log } = await lane();
    const order = JSON.stringify({ orderId: "order-1", amount: 4_200, currency: "EUR" });
    const init = {
      method: "POST",
      headers: { "content-type": "application/json", "playground-run": "late" },
      body: order,
    };
    const script = `await fetch("http://127.0.0.1:${child.port}/payments", ${JSON.stringify(init)})`;
    // Paid by another process while this one, the supervisor, stands still and hears nothing.
    spawnSync(process.execPath, ["--input-type=module", "--eval", script]);
    const paidMs = Date.now();
    await until("all is told", () => log.of("late").some(({ what }) => what === "row-settled"));
    const told = log.of("late").map(({ who, what, atMs }) => [who, what, atMs <= paidMs]);
    expect(told).toEqual([
      ["api", "request", true],
      ["database", "row-opened", true],
      ["api", "charge", true],
      ["database", "row-settled", true],
    ]);
  });

  it("is killed where a kill was armed after something else: what was armed last holds", async () => {
    const { child, log } = await lane();
    let isPaused = false;
    await child.pauseAt("after-charge", async () => {
      isPaused = true;
    });
    await child.killAt("after-claim");
    expect(await pay(child)).toBeUndefined();
    await until("the kill is told", () => log.events.some(({ what }) => what === "exit"));
    expect(isPaused).toBe(false);
    expect(log.events.find(({ what }) => what === "kill")).toMatchObject({ detail: "after-claim" });
  });

  it("may be killed while it stands and waits: the word to go on is for nobody, and does no harm", async () => {
    const { child, log } = await lane();
    const dead = Promise.withResolvers<void>();
    await child.pauseAt("after-charge", () => dead.promise);
    const first = pay(child);
    await until("it stands", () => log.events.some(({ what }) => what === "charge"));
    // The point comes after the bank's answer.
    await sleep(300);
    process.kill(child.pid, "SIGKILL");
    await until("its end is told", () => log.events.some(({ what }) => what === "exit"));
    dead.resolve();
    expect(await first).toBeUndefined();
    await child.up();
    expect(await pay(child)).toBe(201);
  });
});
