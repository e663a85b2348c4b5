/** `ichido console`: the console on this machine, for whoever started it. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { console as createConsole, type Console } from "../../console/console.ts";
import { permissions, type ConsoleUser } from "../../console/options.ts";
import { present } from "../../core/contract/present.ts";
import { createDoor, type Door } from "../console-door.ts";
import { eventsOf, openWhenThere } from "../console-parts.ts";
import { defineCommand, UsageError } from "../command.ts";
import { actorOf } from "../decision.ts";
import { CommandError, exitCodes } from "../exit-codes.ts";
import { projectFlags, type Project } from "../project.ts";
import { wholeNumberOf } from "../times.ts";
import { visible } from "../visible-text.ts";

const portDefault = 4_811;

const isLoopback = (host: string): boolean => /^(localhost|127\.\d+\.\d+\.\d+|::1)$/.test(host);

const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** Shown until the store answers; it asks again by itself. */
function waitingPage(response: ServerResponse, problem: string): void {
  response.writeHead(503, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
    refresh: "2",
  });
  response.end(
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>ichido console</title></head><body>` +
      `<h1>The store does not answer yet</h1><p>${escaped(problem)}</p><p>It is asked again every two seconds.</p></body></html>\n`,
  );
}

async function listening(server: Server, port: number, host: string): Promise<void> {
  server.listen(port, host);
  await once(server, "listening").catch((error: unknown) => {
    const { code } = error as { readonly code?: string };
    const advice = code === "EADDRINUSE" ? "; choose another with --port" : "";
    throw new CommandError("error", `port ${port} of ${host} cannot be had (${String(code)})${advice}`);
  });
}

interface Rules {
  readonly door: Door;
  readonly user: ConsoleUser;
  readonly readOnly: boolean;
  readonly isWide: boolean;
}

async function mounted(project: Project, { door, user, readOnly, isWide }: Rules): Promise<Console> {
  const { ichido, store, subscriptions, clientTimeoutMs, preflights } = project;
  const given = project.console ?? {};
  if (isWide && given.authorize === undefined)
    throw new UsageError(
      "--host: whoever reaches this address could come in; give console.authorize in the configuration",
    );
  return createConsole<IncomingMessage>(ichido ?? { store }, {
    ...given,
    // On this machine the printed address alone lets in: what a proxy's header would prove, anybody here can send.
    ...(!isWide && { at: door.at, authorize: (request) => door.isIn(request) && user }),
    readOnly: readOnly || given.readOnly === true,
    ...(await eventsOf(project)),
    doctor: present({ subscriptions, clientTimeoutMs, preflights }),
  });
}

export const consoleCommand = defineCommand({
  name: "console",
  summary: "open the console in a browser, on this machine",
  about: `
Serves the console on 127.0.0.1 and prints an address that lets one browser in, once. Ends with Ctrl-C. On another --host
it serves only with console.authorize of the configuration, which then decides who is let in.`,
  flags: {
    port: { type: "string", value: "n", says: `default ${portDefault}; 0 takes a free one` },
    host: { type: "string", value: "address", says: "default 127.0.0.1" },
    "read-only": { type: "boolean", says: "nothing is written, and nothing revealed" },
    actor: { type: "string", value: "name", says: "who decides, for the audit; default ICHIDO_ACTOR, or user@host" },
    ...projectFlags,
  },
  examples: [
    ["ichido console", "with the project's configuration"],
    ["ichido console --store postgres://localhost/shop --read-only", "look at a store, change nothing"],
  ],
  exits: "130 when it is interrupted, 1 where the port is taken, 2 where --host is wide and nobody is authorized.",
  async run({ flags, io, print }) {
    const port = flags.port === undefined ? portDefault : wholeNumberOf("--port", flags.port, 0, 65_535);
    const host = flags.host ?? "127.0.0.1";
    const isWide = !isLoopback(host);
    const door = createDoor();
    const user = { user: actorOf(flags, io.env), can: permissions };
    let served: Console | undefined;
    let problem = "It was not asked yet.";
    const server = createServer((request, response) => {
      if (!isWide && door.answers(request, response)) return;
      if (served !== undefined) served(request, response);
      else if (isWide || door.isIn(request)) waitingPage(response, problem);
      else response.writeHead(403).end();
    });
    // With a wide address nothing is served before its rules are known.
    if (!isWide) await listening(server, port, host);
    const address = (path: string): string => {
      const { port: taken } = server.address() as AddressInfo;
      return `http://${host.includes(":") ? `[${host}]` : host}:${taken}${path}`;
    };
    if (!isWide) print.text(address(door.path));
    let project: Project | undefined;
    try {
      project = await openWhenThere(flags, io, (told) => {
        if (told !== problem) io.err(`${visible(told)}; asking again\n`);
        problem = told;
      });
      if (project === undefined) return exitCodes.interrupted;
      served = await mounted(project, { door, user, readOnly: flags["read-only"] === true, isWide });
      if (isWide) {
        await listening(server, port, host);
        print.text(address("/"));
      }
      if (!io.signal.aborted) await once(io.signal, "abort");
      return exitCodes.interrupted;
    } finally {
      served?.close();
      server.closeAllConnections();
      server.close();
      await project?.close();
    }
  },
});
