import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { eventSights } from "../../chaos/events/report.ts";
import { sights } from "../../chaos/tally.ts";
import { boundOf, pageOf } from "../../scripts/proof/page.ts";
import { commandOf } from "../../scripts/proof/command.ts";
import { kinds, type Kind } from "../../scripts/proof/run.ts";
import { readAll, readingOf } from "../../scripts/proof/readings.ts";
import { readSeeds, sourceByGit, sourceByPage } from "../../scripts/proof/seeds-page.ts";

const reference = new URL("../../docs/reference/", import.meta.url);
const page = readFileSync(new URL("proof.md", reference), "utf8");
const kept = readAll(new URL("proof", reference).pathname);
// A copy without its history cannot look a commit up: what the page tells of sources is looked at by itself.
const played = readSeeds(readFileSync(new URL("simulation.md", reference), "utf8"), sourceByPage(page));
const readings = [...kept, ...played];

test("proof.md is what the data says: npm run proof:report writes it", () => {
  expect(played.length).toBeGreaterThan(0);
  expect(page).toBe(pageOf(readings));
});

test("the source of seeds that were played is that of their commit, where git knows it", () => {
  for (const { commit, source } of played) {
    const known = sourceByGit(commit);
    if (known !== undefined) expect(known.slice(0, 10), commit).toBe(source);
  }
});

test("a row of seeds that were played is a run: its violations count, unless they are known to be mended", () => {
  const row = (commit: string, violations: number): string =>
    `| engine | ${commit} | 1000 to 2999 | ${violations} | storeCalls 97.44, faults 32.1 |`;
  const head = "| Part | Commit | Seeds | Violations | On average a seed |\n|---|---|---|---:|---|";
  const rows = [row("aaaaaaaaaa", 0), row("bbbbbbbbbb with changes", 0), row("fc64002bdb", 2)];
  const runs = readSeeds([head, ...rows].join("\n"), (commit) =>
    commit === "aaaaaaaaaa" ? "5".repeat(40) : undefined,
  );
  expect(runs.map(({ tried, faults, violations }) => [tried, faults, violations])).toEqual([
    [2_000, 64_200, 0],
    [2_000, 64_200, 0],
    [2_000, 64_200, 2],
  ]);
  expect(runs[0]?.counts).toEqual({ storeCalls: 194_880 });
  const told = pageOf(runs);
  expect(told).toContain("| 1000 to 2999 | 0 | 0 in 2,000: below 0.15 % |  | aaaaaaaaaa, 5555555555 |");
  expect(told).toContain("| bbbbbbbbbb with changes, earlier |");
  expect(told).toContain("| 1000 to 2999 | 2 | broken |");
  expect(told).toContain("Together 4,000 histories under 128,400 faults on 2 states of the source, 0 violations;");
  expect(told).toMatch(
    /^Not in the sum: engine at fc64002bdb, 2,000 histories with 2 violations: seeds [^]*? tests\.$/m,
  );
  const broken = readSeeds([...rows, row("cccccccccc", 1)].join("\n"), () => undefined);
  expect(pageOf(broken)).toContain("of the source, 1 violations; broken.");
});

test("no run that is told of was broken or empty, and every control was broken", () => {
  const proofs = readings.filter(({ control }) => control === undefined);
  expect(proofs.length).toBeGreaterThan(10);
  const isBad = ({ violations, vacuous, mended }: (typeof readings)[number]): boolean =>
    (violations > 0 && mended === undefined) || vacuous.length > 0;
  expect(proofs.filter(isBad)).toEqual([]);
  expect(readings.filter(({ control, failed }) => control !== undefined && failed !== true)).toEqual([]);
});

describe("a run that tried nothing", () => {
  const whole = { what: "a", command: "npm run a", tried: 9, unit: "points", faults: 9, counts: {}, violations: 0 };
  const read = (kind: Kind, changed: Readonly<Record<string, number | undefined>> = {}) =>
    readingOf("proof/some.json", JSON.stringify({ kind, ...whole, ...changed, date: "", commit: "" })).vacuous;
  const faultless: readonly Kind[] = ["model", "fuzz", "rules undone"];
  const ofChaos: readonly Kind[] = ["chaos", "chaos of events", "soak"];

  test.each(kinds.filter((kind) => !ofChaos.includes(kind)))("%s: is no proof", (kind) => {
    expect(read(kind)).toEqual([]);
    expect(read(kind, { tried: 0 })).toEqual(["nothing was tried"]);
    const unharmed = faultless.includes(kind) ? [] : ["no fault was made"];
    expect(read(kind, { faults: 0 })).toEqual(unharmed);
    expect(read(kind, { faults: undefined })).toEqual(unharmed);
  });

  test("of seeds that were played, too", () => {
    const row = (seeds: string, counted: string): string => `| engine | aaaaaaaaaa | ${seeds} | 0 | ${counted} |`;
    const rows = [row("1 to 9", "faults 32.1"), row("1 to 0", "faults 32.1"), row("1 to 9", "storeCalls 97.44")];
    expect(readSeeds(rows.join("\n"), () => undefined).map(({ vacuous }) => vacuous)).toEqual([
      [],
      ["nothing was tried", "no fault was made"],
      ["no fault was made"],
    ]);
  });
});

test("a command is the one that was given, but for where its report went", () => {
  expect(commandOf("soak", [])).toBe("npm run soak");
  expect(commandOf("chaos", ["--json", "a.json", "--store", "redis", "--only", "kill,pause", "--json=b.json"])).toBe(
    "npm run chaos -- --store redis --only kill,pause",
  );
  expect(commandOf("chaos", ["--store=sqlite", "--control", "no fence"])).toBe(
    "npm run chaos -- --store=sqlite --control 'no fence'",
  );
});

test("the page quotes the commands in the data, and says of which runs there is none", () => {
  const [proof, control] = [
    kept.find((reading) => reading.kind === "chaos" && reading.control === undefined),
    kept.find((reading) => reading.kind === "chaos" && reading.control !== undefined),
  ];
  if (proof === undefined || control === undefined) throw new Error("there are runs and controls of chaos");
  const command = "npm run chaos -- --store mariadb --seconds 61 --callers 12";
  const given = pageOf([
    { ...proof, command },
    { ...control, command: `${command} --only kill` },
  ]);
  expect(given).toContain(`\`\`\`sh\n${command}\n\`\`\``);
  expect(given).toContain(`| \`${command} --only kill\` |`);
  expect(given).not.toContain("not kept:");
  const { command: _, ...silent } = proof;
  const { command: __, ...silentControl } = control;
  const unknown = pageOf([silent, silentControl]);
  expect(unknown).toContain(`\nCommand not kept: ${proof.what}.\n`);
  expect(unknown).toContain("| not kept |");
  expect(unknown).not.toContain("```sh");
  for (const { file, command: told } of kept) {
    const data = JSON.parse(readFileSync(new URL(file, reference), "utf8")) as { readonly command?: string };
    expect(told, file).toBe(data.command);
  }
});

describe("a run has seen what one of today must see", () => {
  const counts = { seconds: 60, seed: 1, operations: 9, effects: 9, answers: 9, faults: 9, forgotten: 0, settledMs: 9 };
  const chaos = {
    ...counts,
    store: "redis",
    control: "none",
    date: "2026-11-19T00:00:00.000Z",
    commit: "0".repeat(40),
    seen: Object.fromEntries(sights.map((sight) => [sight, 1])),
    vacuous: [],
    violations: [],
  };
  const events = {
    ...chaos,
    part: "events",
    seen: Object.fromEntries(eventSights.map((sight) => [sight, 1])),
    violated: {},
  };
  const both: readonly (readonly [string, typeof chaos, readonly string[]])[] = [
    ["chaos", chaos, sights],
    ["soak", Object.assign({ rounds: 1, minutes: 60 }, chaos), sights],
    ["chaos of events", events, eventSights],
  ];
  const read = (run: typeof chaos, seen: Readonly<Record<string, number | undefined>> = {}) =>
    readingOf("proof/some.json", JSON.stringify({ ...run, seen: { ...run.seen, ...seen } }));

  test.each(both)("%s: each sight of today, whatever the run said of itself", (kind, run, demanded) => {
    expect(read(run)).toMatchObject({ kind, vacuous: [] });
    expect(read(run).untold).toBeUndefined();
    for (const sight of demanded) {
      expect(read(run, { [sight]: 0 }).vacuous).toEqual([`no ${sight} was seen`]);
      // It was not counted: neither seen nor not seen.
      expect(read(run, { [sight]: undefined })).toMatchObject({ vacuous: [], untold: [{ sight }] });
    }
  });

  test.each(both)("%s: what it tried and met, whatever it saw", (_kind, run) => {
    expect(read({ ...run, operations: 0, effects: 0 }).vacuous).toEqual(["nothing was tried"]);
    expect(read({ ...run, faults: 0 }).vacuous).toEqual(["no fault was made"]);
  });

  test("a control has failed by what chaos itself goes by, not by a key that was stuck", () => {
    const control = (...invariants: readonly string[]) => {
      const violations = invariants.map((invariant) => ({ invariant, detail: "" }));
      const violated = Object.fromEntries(invariants.map((invariant) => [invariant, 1]));
      return [chaos, events].map((run) =>
        readingOf("proof/some.json", JSON.stringify({ ...run, control: "no-fence", violations, violated })),
      );
    };
    for (const { violations, failed } of control("stuck")) expect([violations, failed]).toEqual([1, false]);
    for (const { violations, failed } of control("stuck", "effect-doubled"))
      expect([violations, failed]).toEqual([2, true]);
    for (const { failed } of control()) expect(failed).toBe(false);
    expect(read(chaos)).not.toHaveProperty("failed");
  });

  test("a settlement that was not told whose is not taken for the person's, and none is none", () => {
    const neither = { "settled-by-reconciler": undefined, "settled-by-person": undefined };
    const counted = "settlement 5";
    expect(read(chaos, { ...neither, settlement: 5 }).untold).toEqual([
      { sight: "settled-by-reconciler", counted },
      { sight: "settled-by-person", counted },
    ]);
    const none = ["no settled-by-reconciler was seen", "no settled-by-person was seen"];
    expect(read(chaos, { ...neither, settlement: 0 }).vacuous).toEqual(none);
    expect(read(chaos, { ...neither, settlement: 0 }).untold).toBeUndefined();
  });

  test("the page lists by sight which runs do not tell", () => {
    const lines = page.replaceAll(/([^\n|])\n(?=[^\n|])/g, "$1 ");
    for (const { kind, what, untold = [], control } of kept) {
      if (control !== undefined) continue;
      const section = lines.slice(lines.indexOf(`## ${kind[0]?.toUpperCase()}${kind.slice(1)}\n`));
      for (const { sight, counted } of untold) {
        const [list = ""] = section.match(new RegExp(`^Not told whether seen: ${sight} by .*$`, "m")) ?? [];
        expect(list.split(/ by |, |\.$/)).toContain(counted === undefined ? what : `${what} (${counted})`);
      }
    }
    const silent = { "settled-by-person": undefined, settlement: 7 };
    expect(pageOf([read(chaos, silent)])).toContain(
      "\nNot told whether seen: settled-by-person by redis (settlement 7).\n",
    );
    expect(pageOf([read(chaos)])).not.toContain("Not told whether seen");
  });
});

test("every run tells its day and its commit", () => {
  for (const { file, date, commit } of kept) {
    expect(date, file).toMatch(/^\d{4}-\d\d-\d\dT/);
    expect(commit, file).toMatch(/^[0-9a-f]{40}(, with changes)?$/);
  }
});

test("guarantees.md names commands and paths that are there", () => {
  const guarantees = readFileSync(new URL("../guide/guarantees.md", reference), "utf8");
  const { scripts } = JSON.parse(readFileSync(new URL("../../package.json", reference), "utf8")) as {
    scripts: Readonly<Record<string, string>>;
  };
  const commands = [...guarantees.matchAll(/`npm run ([\w:]+)/g)].map(([, name = ""]) => name);
  expect(commands.length).toBeGreaterThan(10);
  expect(commands.filter((name) => scripts[name] === undefined)).toEqual([]);
  const paths = [...guarantees.matchAll(/`npm test -- ([\w./-]+)`/g)].map(([, path = ""]) => path);
  expect(paths.length).toBeGreaterThan(5);
  expect(paths.filter((path) => !existsSync(new URL(`../../${path}`, reference)))).toEqual([]);
});

test("a bound follows from what was tried, and a broken promise has none", () => {
  expect(boundOf({ tried: 3_000, violations: 0 })).toBe("0 in 3,000: below 0.10 %");
  expect(boundOf({ tried: 3_000, violations: 1 })).toBe("broken");
  expect(boundOf({ tried: 2, violations: 0 })).toBe("–");
  expect(boundOf({ tried: 40, violations: 0, isExhaustive: true })).toBe("all");
});

test("a run that tells no source is marked as of an earlier state", () => {
  const [known] = readings.filter(({ source, control }) => source !== undefined && control === undefined);
  if (known === undefined) throw new Error("some run tells its source");
  const { source, ...earlier } = known;
  const shown = (page: string): string => page.slice(page.indexOf("| Commit, source |"));
  expect(shown(pageOf([known]))).toContain(`, ${source?.slice(0, 10)} |`);
  expect(shown(pageOf([earlier]))).toContain(", earlier |");
  const rows = readFileSync(new URL("proof.md", reference), "utf8").split("\n");
  for (const { file, source: told, control } of kept) {
    if (control === undefined && told === undefined)
      expect(
        rows.find((row) => row.includes(`(${file})`)),
        file,
      ).toMatch(/, earlier \|$/);
  }
});
