/** A first program, put together from a framework and a store: three files that run as they are. */
import { express } from "./express.ts";
import { fastify } from "./fastify.ts";
import { hono } from "./hono.ts";
import { koa } from "./koa.ts";
import { nest } from "./nest.ts";
import { next } from "./next.ts";
import { node } from "./node.ts";
import { stores, type StoreName } from "./stores.ts";

export interface Framework {
  /** What is to be installed. */
  readonly packages: readonly string[];
  /** For the compiler. */
  readonly devPackages?: readonly string[];
  /** A dependency that tells that a project uses it. */
  readonly sign: string;
  /** The type of its requests, and where it comes from. */
  readonly request: { readonly type: string; readonly from?: string };
  /** How the header with the token is read from `request`. */
  readonly token: string;
  /** The file of the program, without its ending. */
  readonly file: string;
  /** `engine` leads to the file with the engine. */
  readonly program: (engine: string) => string;
  readonly start: (file: string) => string;
}

export const frameworks = { express, fastify, hono, koa, nest, next, node } as const satisfies Readonly<
  Record<string, Framework>
>;

export type FrameworkName = keyof typeof frameworks;
export const frameworkNames = Object.keys(frameworks) as FrameworkName[];

export interface WrittenFile {
  readonly path: string;
  readonly text: string;
}

function engineFile({ request, token }: Framework, store: StoreName): string {
  const { imports, open, close } = stores[store];
  const types =
    request.from === undefined ? [] : [`import type { ${request.type.replace(/<.*/, "")} } from "${request.from}";`];
  return `/** The engine: where keys live, whose they are, and what is done when an owner vanished. */
${[...types, 'import { createIchido } from "ichido";', ...imports].join("\n")}

/** Stands for your authentication: whose token it is. Keys belong to that person, whatever token comes with them. */
const users = new Map([
  ["Bearer ann-token", "ann"],
  ["Bearer ben-token", "ben"],
]);
export const userOf = (request: ${request.type}): string => users.get(${token} ?? "") ?? "";

${open.join("\n")}

export const ichido = createIchido({
  store,
  scope: (request: ${request.type}) => ({ principal: userOf(request) }),
  // A key whose owner vanished waits for a person: npx ichido keys list --state unknown
  onUnknown: "hold",
});

/** What a route promises, for its middleware and for the published policy. */
export const payment = { operation: "payment.create" } as const;

/** Ends what was opened above. */
export const close = async (): Promise<void> => {
  ${close}
};
`;
}

const configFile = (engine: string): string => `/** For npx ichido: the commands use the program's own engine. */
import { defineConfig } from "ichido/config";
import { close, ichido, payment } from "${engine}";

export default defineConfig({
  ichido,
  routes: [{ method: "POST", path: "/payments", options: payment }],
  close,
});
`;

/** `ending`: `ts`, or `mts` where the package says that its files are CommonJS. */
export function firstProgram(framework: FrameworkName, store: StoreName, ending: "ts" | "mts"): readonly WrittenFile[] {
  const chosen: Framework = frameworks[framework];
  const up = "../".repeat(chosen.file.split("/").length - 1) || "./";
  const programEnding = framework === "next" ? "ts" : ending;
  return [
    { path: `ichido.${ending}`, text: engineFile(chosen, store) },
    { path: `ichido.config.${ending}`, text: configFile(`./ichido.${ending}`) },
    { path: `${chosen.file}.${programEnding}`, text: chosen.program(`${up}ichido.${ending}`) },
  ];
}
