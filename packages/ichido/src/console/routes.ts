/**
 * Every route, with what it needs: the one table that the handler asks, and that the tests walk. POST writes or reveals:
 * it needs the token and the console's own page, and is refused where the console is read-only.
 */
import { ask } from "./ask.ts";
import type { Permission } from "./contract.ts";
import type { Asked } from "./parts.ts";
import { inboxLetters, showInbox } from "./inbox.ts";
import { forgetKey, revealKey, settleKey } from "./key-writes.ts";
import { askProbes, listKeys, listUnknown, showKey } from "./keys.ts";
import { decideLetters, listLetters, revealLetter, showLetter } from "./letters.ts";
import { live } from "./live.ts";
import { showAudit, showDoctor, showStorage, showTraffic } from "./numbers.ts";
import { outboxLetters, showOutbox, switchOutbox } from "./outbox.ts";
import { session } from "./session.ts";

export interface Route {
  readonly method: "GET" | "POST";
  /** Relative to the mount; `{…}` is one segment. */
  readonly path: string;
  /** Absent: to be let in is enough. */
  readonly needs?: Permission;
  readonly answer: (asked: Asked) => Promise<object>;
}

function look(path: string, answer: Route["answer"], needs: Permission = "read"): Route {
  return { method: "GET", path, needs, answer };
}

function write(path: string, needs: Permission, answer: Route["answer"]): Route {
  return { method: "POST", path, needs, answer };
}

function letterRoutes(box: typeof outboxLetters): readonly Route[] {
  const at = `api/${box.side}`;
  return [
    look(`${at}/dead`, (asked) => listLetters(box, asked)),
    look(`${at}/dead/{letter}`, (asked) => showLetter(box, asked)),
    write(`${at}/dead/{letter}/reveal`, "reveal", (asked) => revealLetter(box, asked)),
    write(`${at}/replay`, "events", (asked) => decideLetters(box, "replay", asked)),
    write(`${at}/discard`, "events", (asked) => decideLetters(box, "discard", asked)),
  ];
}

export const routes: readonly Route[] = [
  { method: "GET", path: "api/session", answer: session },
  look("api/ask", ask),
  look("api/keys", listKeys),
  look("api/keys/{handle}", showKey),
  look("api/keys/{handle}/probes", askProbes),
  write("api/keys/{handle}/reveal", "reveal", revealKey),
  write("api/keys/{handle}/settle", "settle", settleKey),
  write("api/keys/{handle}/forget", "erase", forgetKey),
  look("api/live", live),
  look("api/unknown", listUnknown),
  look("api/outbox", showOutbox),
  write("api/outbox/pause", "events", (asked) => switchOutbox("pause", asked)),
  write("api/outbox/resume", "events", (asked) => switchOutbox("resume", asked)),
  ...letterRoutes(outboxLetters),
  look("api/inbox", showInbox),
  ...letterRoutes(inboxLetters),
  look("api/storage", showStorage),
  look("api/traffic", showTraffic),
  look("api/doctor", showDoctor),
  look("api/audit", showAudit),
];

export interface Found {
  readonly route: Route;
  readonly named: string;
}

const segmentMax = 4_096;

function match(path: string, asked: readonly string[]): string | undefined {
  const parts = path.split("/");
  if (parts.length !== asked.length) return undefined;
  let named = "";
  for (const [index, part] of parts.entries()) {
    const given = asked[index] ?? "";
    if (part.startsWith("{")) named = given;
    else if (part !== given) return undefined;
  }
  return named === "" && path.includes("{") ? undefined : named;
}

/** All methods of a path, so that a wrong method can be told from a wrong path. */
export function findRoutes(path: string): readonly Found[] {
  if (path.length > segmentMax) return [];
  const asked = path.split("/");
  return routes.flatMap((route) => {
    const named = match(route.path, asked);
    return named === undefined ? [] : [{ route, named }];
  });
}
