/**
 * Stands in for `vitest` in the tests of a room: they are collected once, and run again and again in one process. It knows
 * what those tests use, and no more; `expect` and `vi` are Vitest's own.
 */
import { format } from "node:util";
import * as vitest from "vitest";

export const { expect, expectTypeOf } = vitest;

const replaced: (() => void)[] = [];

function replace(target: object, name: string, value: unknown): void {
  const before = Object.getOwnPropertyDescriptor(target, name);
  replaced.push(() => {
    if (before === undefined) Reflect.deleteProperty(target, name);
    else Object.defineProperty(target, name, before);
  });
  Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: true });
}

function putBack(): void {
  for (const undo of replaced.splice(0).toReversed()) undo();
}

interface Vi extends Pick<typeof vitest.vi, "fn" | "spyOn" | "restoreAllMocks"> {
  stubEnv(name: string, value: string): void;
  unstubAllEnvs(): void;
  stubGlobal(name: string, value: unknown): void;
  unstubAllGlobals(): void;
}

/** Vitest's own stubs need a worker of Vitest's. */
export const vi: Vi = {
  fn: vitest.vi.fn,
  spyOn: vitest.vi.spyOn,
  restoreAllMocks: vitest.vi.restoreAllMocks,
  stubEnv: (name, value) => replace(process.env, name, value),
  unstubAllEnvs: putBack,
  stubGlobal: (name, value) => replace(globalThis, name, value),
  unstubAllGlobals: putBack,
};

type Body = (...given: never[]) => unknown;
type Hook = () => unknown;

export interface Suite {
  readonly name: string;
  readonly parent: Suite | undefined;
  readonly before: Hook[];
  readonly after: Hook[];
  readonly beforeAll: Hook[];
  readonly afterAll: Hook[];
}

export interface CollectedTest {
  readonly id: string;
  readonly file: string;
  readonly suite: Suite;
  readonly body: Hook;
}

export const collected: CollectedTest[] = [];
let file = "";
let suite = suiteOf("", undefined);

function suiteOf(name: string, parent: Suite | undefined): Suite {
  return { name, parent, before: [], after: [], beforeAll: [], afterAll: [] };
}

/** What is collected from here on is of this file. */
export function beginFile(path: string): void {
  file = path;
  suite = suiteOf("", undefined);
}

function add(name: string, body: Hook): void {
  const path = [name];
  for (let of: Suite | undefined = suite; of !== undefined; of = of.parent) if (of.name !== "") path.unshift(of.name);
  collected.push({ id: `${file}#${collected.length} ${path.join(" ")}`, file, suite, body });
}

export function describe(name: string, fn: () => void): void {
  const outer = suite;
  suite = suiteOf(name, outer);
  try {
    fn();
  } finally {
    suite = outer;
  }
}

export const it = Object.assign((name: string, body: Body): void => add(name, body as Hook), {
  each:
    (rows: readonly unknown[]) =>
    (name: string, body: Body): void => {
      for (const row of rows) {
        const given = (Array.isArray(row) ? row : [row]) as never[];
        add(format(name, ...given), () => body(...given));
      }
    },
});
export const test = it;

export const beforeEach = (hook: Hook): void => void suite.before.push(hook);
export const afterEach = (hook: Hook): void => void suite.after.push(hook);
export const beforeAll = (hook: Hook): void => void suite.beforeAll.push(hook);
export const afterAll = (hook: Hook): void => void suite.afterAll.push(hook);
