/**
 * ichido/conform/harness: a small server on which all cases of HTTP behaviour can be observed, for each framework.
 *
 *     const server = await startHarness("express", { profile: "ietf" });
 *     const report = await conform(server.description);
 */
import { knownOptions } from "../../core/contract/option-checks.ts";
import { once } from "node:events";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import type { ProfileName } from "../../core/contract/profiles.ts";
import { policyOf, policyPath } from "../../policy/index.ts";
import { memoryStore } from "../../stores/memory/index.ts";
import type { Harness, HarnessOptions } from "../../testing/adapter-suite/index.ts";
import type { Description } from "../description.ts";
import type { Application, BuildApplication, Load } from "./application.ts";
import { describeHarness, expiringMs, mounts, operationPath, prepareTokens } from "./describe.ts";
import { buildExpress } from "./express-application.ts";
import { buildFastify } from "./fastify-application.ts";
import { buildFetch } from "./fetch-application.ts";
import { buildHono } from "./hono-application.ts";
import { buildKoa } from "./koa-application.ts";
import { loadFromHere } from "./load.ts";
import { buildNest } from "./nest-application.ts";
import { buildNode } from "./node-application.ts";
import { outerLayers } from "./outer-layers.ts";

const builders = {
  express: buildExpress,
  fastify: buildFastify,
  hono: buildHono,
  koa: buildKoa,
  nest: buildNest("express"),
  "nest-fastify": buildNest("fastify"),
  fetch: buildFetch,
  node: buildNode,
} as const satisfies Readonly<Record<string, BuildApplication>>;

export type HarnessFramework = keyof typeof builders;
export const harnessFrameworks: readonly HarnessFramework[] = Object.keys(builders) as HarnessFramework[];

export interface HarnessSettings {
  readonly profile?: ProfileName;
  /** Of the server under test. Default: a free one. */
  readonly port?: number;
  /** Imports the framework. Default: from the working directory. */
  readonly load?: Load;
}

export interface HarnessServer {
  /** For `conform`: the addresses, and the requests that provoke each case. */
  readonly description: Description;
  close(): Promise<void>;
}

async function listen(listener: http.RequestListener, port = 0): Promise<{ url: string; close: () => Promise<void> }> {
  const server = http.createServer(listener);
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** The counter and the policy have a server of their own, so that reading them changes nothing in the application. */
function besides(harnesses: readonly Harness<never>[], profile: ProfileName): http.RequestListener {
  const { main } = mounts[profile];
  const [harness] = harnesses as readonly [Harness<never>];
  const published = harness.routes
    .filter(({ name }) => name === main)
    .map(({ options }) => ({ method: "POST", path: operationPath(main), options }));
  return (request, response) => {
    const effects = harnesses.reduce((sum, each) => sum + each.effects.count(), 0);
    const answer = request.url === policyPath ? policyOf(harness.ichido, published) : { effects };
    response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
  };
}

export async function startHarness(
  framework: HarnessFramework,
  settings: HarnessSettings = {},
): Promise<HarnessServer> {
  knownOptions("startHarness", settings, { profile: true, port: true, load: true });
  const { profile = "ietf", load = loadFromHere } = settings;
  const build: BuildApplication = builders[framework];
  const store = memoryStore();
  const statusUrl = (id: string): string => `/operations/${id}`;
  const options: HarnessOptions = { store, routes: { brief: { profile, retentionMs: expiringMs, statusUrl } } };
  const closing: (() => Promise<void>)[] = [() => store.close()];
  async function close(): Promise<void> {
    for (const each of closing.splice(0).toReversed()) await each();
  }
  async function start(port?: number): Promise<{ readonly url: string; readonly application: Application }> {
    const application = await build(options, load);
    const { harness, listener } = application;
    closing.push(async () => {
      harness.gates.openAll();
      await application.close?.();
      await harness.ichido.close();
    });
    prepareTokens(harness.tokens);
    const server = await listen((request, response) => {
      if (!outerLayers(harness, request, response)) listener(request, response);
    }, port);
    closing.push(server.close);
    return { url: server.url, application };
  }
  try {
    const main = await start(settings.port);
    const replica = await start();
    const harnesses = [main, replica].map(({ application }) => application.harness);
    const beside = await listen(besides(harnesses, profile));
    closing.push(beside.close);
    const urls = { main: main.url, replica: replica.url, beside: beside.url };
    const traits = { parsesFirst: framework !== "node", seesErrors: framework !== "fetch" };
    return { description: describeHarness(profile, urls, traits), close };
  } catch (error) {
    await close();
    throw error;
  }
}
