/** `docs/reference/cli.md` has the usage of every command as the command itself prints it. `UPDATE_GOLDEN=1` writes it anew. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commands } from "../../packages/ichido/src/cli/command-list.ts";
import { exitCodes } from "../../packages/ichido/src/cli/exit-codes.ts";
import { root } from "../repo/tracked.ts";

const path = join(root, "docs/reference/cli.md");
const mark = "## Commands\n";

async function usages(): Promise<string> {
  const parts = await Promise.all(
    Object.entries(commands).map(async ([name, load]) => `### ${name}\n\n\`\`\`text\n${(await load()).usage}\`\`\`\n`),
  );
  return `\n${parts.join("\n")}`;
}

test("the page has every command with its usage", async () => {
  const [before = "", after] = readFileSync(path, "utf8").split(mark);
  const wanted = await usages();
  if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(path, `${before}${mark}${wanted}`);
  else expect(after).toBe(wanted);
});

test("the page has every exit code", () => {
  const listed = [...readFileSync(path, "utf8").matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
  expect(listed).toEqual(Object.values(exitCodes));
});

test("every command has a summary of one line, and examples that name it", async () => {
  for (const [name, load] of Object.entries(commands)) {
    const { summary, usage } = await load();
    expect(summary).toMatch(/^[a-z][^\n]{10,80}$/);
    expect(usage).toContain(`usage: ichido ${name}`);
    expect(usage).toMatch(new RegExp(`\\n  ichido ${name}`));
    // A flag is told on one line of a terminal of usual width.
    for (const line of usage.split("\n")) expect(line.length, line).toBeLessThanOrEqual(130);
  }
});
