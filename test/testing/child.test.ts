import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { faultsToEnv, spawnChild } from "ichido/testing";
import { describe, expect, test } from "vitest";
import { isAlive } from "../../scripts/services/process-tree.ts";
import { eventually } from "../support/eventually.ts";

const talker = new URL("./programs/talker.ts", import.meta.url);

describe("spawnChild", () => {
  test("waits for the ready line, passes arguments and environment, talks both ways", async () => {
    await using child = await spawnChild(talker, { args: ["a", "b"], env: { GREETING: "hi" }, readyPattern: /^ready/ });
    expect(child.lines[0]).toBe("ready a b hi");
    child.write("hello");
    expect((await child.waitFor(/heard (\w+)/))[1]).toBe("hello");
    expect(child.exit).toBeUndefined();
  });

  test("onLine sees every line that it prints, in order", async () => {
    const seen: string[] = [];
    await using child = await spawnChild(talker, { readyPattern: /^ready/, onLine: (line) => seen.push(line) });
    child.write("one");
    child.write("two");
    await child.waitFor(/heard two/);
    expect(seen).toEqual(child.lines);
    expect(seen).toHaveLength(3);
  });

  test("kill ends it at once: no handler runs", async () => {
    const child = await spawnChild(talker, { readyPattern: /^ready/ });
    expect(await child.kill()).toEqual({ code: null, signal: "SIGKILL" });
    expect(child.lines).not.toContain("asked to end");
    expect(isAlive(child.pid)).toBe(false);
  });

  test("stop asks first, then insists", async () => {
    const polite = await spawnChild(talker, { readyPattern: /^ready/ });
    expect(await polite.stop()).toEqual({ code: 0, signal: null });
    expect(polite.lines).toContain("asked to end");
    const stubborn = await spawnChild(talker, { env: { STUBBORN: "1" }, readyPattern: /^ready/ });
    expect(await stubborn.stop(100)).toEqual({ code: null, signal: "SIGKILL" });
  });

  test("a paused child does nothing until it is resumed", async () => {
    await using child = await spawnChild(talker, { readyPattern: /^ready/ });
    child.pause();
    await eventually(() => expect(readFileSync(`/proc/${child.pid}/stat`, "utf8")).toMatch(/\) T /));
    child.write("hello");
    await sleep(50);
    expect(child.lines).toHaveLength(1);
    child.resume();
    await child.waitFor(/heard hello/);
  });

  test("waitFor fails with the last lines when the child ends or says nothing", async () => {
    const child = await spawnChild(talker, { readyPattern: /^ready/ });
    await expect(child.waitFor(/never/, 50)).rejects.toThrow(/no line matched \/never\/ within 50 ms:\nready/);
    child.write("exit");
    await expect(child.waitFor(/never/)).rejects.toThrow(/ended \(code 3\)[^]*last words/);
  });

  test("a child that is not ready in time is killed, not left behind", async () => {
    const failure: unknown = await spawnChild(talker, { readyPattern: /never/, readyMs: 400 }).catch(
      (error: unknown) => error,
    );
    expect(String(failure)).toMatch(/no line matched/);
  });

  test("a crash point from the environment kills the child exactly there", async () => {
    const child = await spawnChild(talker, { env: faultsToEnv("after-claim"), readyPattern: /^ready/ });
    child.write("claim");
    expect(await child.exited).toEqual({ code: null, signal: "SIGKILL" });
    expect(child.lines).toContain("claimed");
    expect(child.lines).not.toContain("still here");
  });

  test("without the variable no crash point fires", async () => {
    await using child = await spawnChild(talker, { readyPattern: /^ready/ });
    child.write("claim");
    await child.waitFor(/still here/);
  });

  test("the kill action kills this very process", async () => {
    const child = await spawnChild(talker, { readyPattern: /^ready/ });
    child.write("die");
    expect(await child.exited).toEqual({ code: null, signal: "SIGKILL" });
  });

  test("a child ends with its parent, even when the parent is killed and the child is paused", async () => {
    const child = await spawnChild(talker, { readyPattern: /^ready/ });
    child.write("spawn");
    const grandchild = Number((await child.waitFor(/grandchild (\d+)/))[1]);
    process.kill(grandchild, "SIGSTOP");
    await child.kill("SIGKILL");
    await eventually(() => expect(isAlive(grandchild)).toBe(false));
  });
});

describe("reaper", () => {
  const heir = new URL("./programs/heir.ts", import.meta.url);

  test("removes folders and runs commands after its owner was killed, but not what was forgotten", async () => {
    const folder = mkdtempSync(join(tmpdir(), "ichido-reaper-"));
    const [gone, kept, mark] = [join(folder, "gone"), join(folder, "kept"), join(folder, "mark")];
    writeFileSync(gone, "");
    writeFileSync(kept, "");
    const child = await spawnChild(heir, { args: [gone, kept, mark], readyPattern: /^ready/ });
    expect(existsSync(gone)).toBe(true);
    await child.kill("SIGKILL");
    await eventually(() => expect(existsSync(gone)).toBe(false));
    await eventually(() => expect(existsSync(mark)).toBe(true));
    expect(existsSync(kept)).toBe(true);
    rmSync(folder, { recursive: true });
  });
});
