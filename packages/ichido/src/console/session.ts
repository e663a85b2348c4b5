/** Who asks, what they may, and what this console is on. */
import { present } from "../core/contract/present.ts";
import { iso } from "../operations/told-record.ts";
import type { SessionAnswer } from "./contract.ts";
import { may, type Asked, type ConsoleParts } from "./parts.ts";
import { storeProblem } from "./gate.ts";
import { packageVersion } from "./package-version.ts";

async function storeOf({ store }: ConsoleParts): Promise<Pick<SessionAnswer, "store" | "storeNow">> {
  const { name, capabilities } = store;
  const { durable, shared, promise } = capabilities;
  const startedMs = performance.now();
  const problem = await store.ping().then(
    () => undefined,
    (error: unknown) => storeProblem(error).message,
  );
  const tookMs = Math.round((performance.now() - startedMs) * 10) / 10;
  const inspected = problem === undefined ? await store.inspect?.().catch(() => undefined) : undefined;
  return {
    store: { name, durable, shared, promise, ok: problem === undefined, tookMs, ...present({ problem }) },
    ...(inspected && { storeNow: iso(inspected.nowMs) }),
  };
}

export async function session(asked: Asked): Promise<SessionAnswer> {
  asked.query();
  const { parts, user } = asked;
  const { settings, engine, link } = parts;
  const { token, expiresAtMs } = parts.tokens.of(user.user);
  const { store, storeNow } = await storeOf(parts);
  const unknown = store.ok && may(asked, "read") ? await parts.openCount() : undefined;
  return {
    user: user.user,
    can: user.can,
    readOnly: settings.readOnly,
    token,
    tokenExpiresAt: iso(expiresAtMs),
    ...present({ environment: settings.environmentName, storeNow, unknown }),
    version: packageVersion(),
    store,
    now: new Date().toISOString(),
    parts: {
      outbox: settings.outbox !== undefined,
      inbox: settings.inbox !== undefined,
      probes: Object.keys(engine.probes ?? {}),
      attemptLog: link.isLogged,
    },
    links: link.secret === undefined ? "hidden" : "sealed",
  };
}
