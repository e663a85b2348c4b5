/** T, M, P, X: retention, publication, methods, the form of errors, conditional requests. */
import { counting, defineCases, either, lacking, otherContent } from "../case.ts";
import type { RequestPart } from "../description.ts";
import type { Ask, Reply, Session } from "../session.ts";

const expiryMsMax = 10_000;

function retentionTooLong({ description }: Session): string | undefined {
  const { ms } = description.variants?.expiring ?? {};
  if (ms === undefined) return "not described: variants.expiring";
  return ms > expiryMsMax ? `a retention above ${expiryMsMax} ms is not waited for` : undefined;
}

/**
 * Asks with `content` again and again until it runs as new; that must take the whole retention, and not much longer.
 */
async function expires(s: Session, content: () => Pick<Ask, "body" | "content">): Promise<void> {
  const ms = s.description.variants?.expiring?.ms ?? 0;
  const part = (): RequestPart => {
    const { ms: _ms, ...rest } = s.description.variants?.expiring ?? { ms };
    return rest;
  };
  const key = s.freshKey();
  await s.counting(2, async () => {
    const startedMs = performance.now();
    const first = s.executed(await s.ask({ ...part(), key }));
    s.replayed(await s.ask({ ...part(), key }), first);
    s.renew();
    const isNew = (reply: Reply): boolean =>
      reply.status === s.statusOf(part()) && reply.header(s.profile.marker.name) === undefined;
    let reply: Reply;
    do {
      await new Promise((resolve) => setTimeout(resolve, Math.max(100, ms / 10)));
      reply = await s.ask({ ...part(), key, ...content() });
    } while (!isNew(reply) && performance.now() - startedMs < ms * 3 + 2_000);
    const tookMs = Math.round(performance.now() - startedMs);
    s.executed(reply);
    if (tookMs < ms * 0.95) s.fail(`the key to be remembered for ${ms} ms`, reply, `it ran as new after ${tookMs} ms`);
  });
}

function problemType(s: Session, reply: Reply): string {
  if (!/^application\/problem\+json\b/i.test(reply.header("content-type") ?? "")) {
    s.fail("application/problem+json", reply);
  }
  const problem = reply.json() as { readonly type?: unknown; readonly status?: unknown } | undefined;
  const { type, status } = problem ?? {};
  if (typeof type !== "string" || !URL.canParse(type)) s.fail("an absolute type", reply);
  if (status !== reply.status) s.fail(`status ${reply.status} in the problem too`, reply);
  return type;
}

/** Asks twice: both answers must have the same type of problem, which is returned. */
async function repeated(s: Session, ask: () => Promise<Reply>): Promise<string> {
  const [first, second] = [await ask(), await ask()];
  const types = [problemType(s, first), problemType(s, second)];
  if (first.status !== second.status || types[0] !== types[1]) s.fail("the same error for the same request", second);
  return types[0] as string;
}

export const otherCases = defineCases({
  "T-01: a key is replayed until its retention ends and then runs as new, with any content": {
    must: "draft section 2.3; ACP 6.6; Stripe; OASIS",
    unless: retentionTooLong,
    run: (s) => expires(s, () => (otherContent(s) === undefined ? s.other : {})),
  },
  "T-02: replays do not extend the retention": {
    should: "Stripe; DynamoDB",
    unless: either(retentionTooLong, ({ hasUnique }) =>
      hasUnique ? "the content has unique members: it cannot run a second time" : undefined,
    ),
    run: (s) => expires(s, () => ({})),
  },
  "T-05: a machine-readable description states header, operations, key, scope, retention, statuses, marker and errors":
    {
      should: "draft sections 2.3, 2.5; draft issues 35, 49",
      unless: lacking("policy"),
      run: async (s) => {
        const address = new URL(s.description.policy ?? "", s.description.url);
        const path = `${address.pathname}${address.search}`;
        const reply = await s.ask({ key: null, method: "GET", path, content: "", origin: address.origin });
        const policy = reply.json() as Record<string, unknown> | undefined;
        if (reply.status !== 200 || policy === undefined) return s.fail("200 with a JSON document", reply);
        for (const member of [
          "header",
          "operations",
          "key",
          "scope",
          "retention",
          "storedStatuses",
          "marker",
          "errors",
        ]) {
          if (policy[member] === undefined) s.fail(`the member ${member}`, reply);
        }
        const { duration } = policy["retention"] as { readonly duration?: unknown };
        if (typeof duration !== "string" || !duration.startsWith("P")) s.fail("retention.duration in ISO 8601", reply);
      },
    },
  "M-01: safe methods ignore the key, even a malformed one": {
    must: "Stripe; OASIS: ignored for safe methods",
    unless: lacking("read"),
    run: async (s) => {
      const read = { method: "GET", content: "", ...s.description.read };
      const plain = await s.ask({ ...read, key: null });
      for (const key of [s.freshKey(), '"open', "a, b"]) {
        for (let round = 0; round < 2; round += 1) {
          const reply = await s.ask({ ...read, key });
          if (reply.status !== plain.status) s.fail(`${plain.status}, as without the header`, reply);
          if (reply.header(s.profile.marker.name) !== undefined) s.fail("live state, no replay", reply);
        }
      }
    },
  },
  "P-01: every error of the layer is a problem of its own type and stays the same when repeated": {
    should: "RFC 9457; draft section 2.7",
    run: async (s) => {
      const types: string[] = [];
      if (s.description.keyRequired !== false) types.push(await repeated(s, () => s.ask({ key: null })));
      types.push(await repeated(s, () => s.ask({ key: ['"a"', '"b"'] })));
      if (otherContent(s) === undefined) {
        const key = s.freshKey();
        s.executed(await s.ask({ key }));
        types.push(await repeated(s, () => s.ask({ key, ...s.other })));
      }
      if (new Set(types).size !== types.length) {
        s.fail("a type of its own for each condition", await s.ask({ key: null }), types.join("\n"));
      }
    },
  },
  "X-01: a conditional change that succeeded is replayed, not refused by its own effect": {
    must: "RFC 9110 section 13.1.1; OASIS section 5",
    unless: lacking("variants.conditional"),
    run: counting(1, async (s, key) => {
      const { ifMatch, stale, ...part } = s.description.variants?.conditional ?? { ifMatch: "", stale: "" };
      // a failed precondition leaves the key free for the corrected request.
      const refused = await s.ask({ ...part, key, headers: { ...part.headers, "If-Match": stale } });
      if (refused.status !== 412) s.fail("412 for a stale If-Match", refused);
      const headers = { ...part.headers, "If-Match": ifMatch };
      const first = s.executed(await s.ask({ ...part, key, headers }));
      s.replayed(await s.ask({ ...part, key, headers }), first);
    }),
  },
});
