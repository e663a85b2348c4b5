/** The routes of the harness: one for every setting that a case needs, each at `/api/<name>` and `/api/<name>/:id`. */
import type { RouteOptions } from "../../core/contract/options.ts";
import { profiles } from "../../core/contract/profiles.ts";

export interface HarnessRoute {
  readonly name: string;
  /** As Express, Fastify, Hono, Koa's router and Nest spell it. Mounted for every method. */
  readonly paths: readonly string[];
  readonly options: RouteOptions<unknown>;
}

/** The mount point of the router, so that mounted paths are tried too. */
export const routePrefix = "/api";
export const bodyBytesMaxSmall = 2_048;

const settings = {
  create: {},
  second: {},
  optional: { required: false },
  strict: { profile: { ...profiles.ietf, keyForm: "strict" } },
  stripe: { profile: "stripe" },
  "stripe-second": { profile: "stripe" },
  "adr-007": { profile: "adr-007" },
  "adr-007-hold": { profile: "adr-007", onUnknown: "hold" },
  polling: { profile: "polling", statusUrl: (id: string) => `/operations/${id}` },
  bytes: { fingerprint: { compare: "bytes" } },
  amount: { fingerprint: { fields: ["amount"] } },
  wait: { inFlight: { waitMs: 15_000 } },
  "wait-briefly": { inFlight: { waitMs: 150 } },
  hold: { onUnknown: "hold" },
  small: { bodyBytesMax: bodyBytesMaxSmall },
  unsafe: { methods: ["POST", "PATCH", "PUT", "DELETE"] },
  open: { dangerouslyRunWithoutStore: true },
  observe: { enforce: false },
} as const satisfies Readonly<Record<string, Omit<RouteOptions<unknown>, "operation">>>;

export type RouteName = keyof typeof settings;

export function harnessRoutes(
  more: Readonly<Record<string, Omit<RouteOptions<unknown>, "operation">>> = {},
): readonly HarnessRoute[] {
  return Object.entries({ ...settings, ...more }).map(([name, options]) => ({
    name,
    paths: [`/${name}`, `/${name}/:id`],
    options: { operation: `thing.${name}`, ...options },
  }));
}
