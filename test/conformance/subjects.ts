/** Every framework that the suite is tried on, by its name; each loads its framework only when it is asked for. */
import type { AdapterSubject } from "ichido/testing";

export type FrameworkSubject = Pick<AdapterSubject, "start" | "ways" | "layers" | "parsedBodies" | "skip">;

const subjects = {
  "express 4": async () => (await import("./express-app.ts")).expressSubject("express 4"),
  "express 5": async () => (await import("./express-app.ts")).expressSubject("express 5"),
  fastify: async () => (await import("./fastify-app.ts")).fastifySubject,
  koa: async () => (await import("./koa-app.ts")).koaSubject,
  node: async () => (await import("./node-app.ts")).nodeSubject,
  hono: async () => (await import("./hono-app.ts")).honoSubject,
  fetch: async () => (await import("./node-app.ts")).fetchSubject,
  "nest on express": async () => (await import("./nest-app.ts")).nestSubject("express"),
  "nest on fastify": async () => (await import("./nest-app.ts")).nestSubject("fastify"),
} as const satisfies Readonly<Record<string, () => Promise<FrameworkSubject>>>;

export type FrameworkName = keyof typeof subjects;

export function subjectOf(name: FrameworkName): Promise<FrameworkSubject> {
  return subjects[name]();
}
