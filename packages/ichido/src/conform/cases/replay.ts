/** R: a replay is the first answer. */
import type { Variants } from "../description.ts";
import { counting, defineCases, lacking, type ConformCase } from "../case.ts";
import type { Reply, Session } from "../session.ts";

async function twice(s: Session, variant: keyof Variants | undefined): Promise<{ first: Reply; replay: Reply }> {
  const part = variant === undefined ? {} : s.description.variants?.[variant];
  const key = s.freshKey();
  const first = s.executed(await s.ask({ ...part, key }));
  return { first, replay: s.replayed(await s.ask({ ...part, key }), first) };
}

type Check = (s: Session, replies: { first: Reply; replay: Reply }) => void;

/** One effect, the same answer, and what else the case asks for. */
function once(variant: keyof Variants, check: Check = () => undefined): Pick<ConformCase, "unless" | "run"> {
  return {
    unless: lacking(`variants.${variant}`),
    run: (s) => s.counting(1, async () => check(s, await twice(s, variant))),
  };
}

/** Header lines that belong to one request and its answer, not to the stored answer. */
const ofOneExchange = [
  "age",
  "x-request-id",
  "request-id",
  "x-correlation-id",
  "traceparent",
  "ratelimit-remaining",
  "x-ratelimit-remaining",
  "server-timing",
  "x-response-time",
  "www-authenticate",
];

const dateSlackMs = 60_000;

export const replayCases = defineCases({
  "R-01: status, Location, ETag, Last-Modified and Link are replayed": {
    must: "draft section 2.6",
    run: counting(1, async (s) => void (await twice(s, undefined))),
  },
  "R-02: Date is fresh: there is one, and it is of now": {
    should: "RFC 9110 sections 6.6.1, 7.6.1",
    run: async (s) => {
      const key = s.freshKey();
      s.executed(await s.ask({ key }));
      // Dates have a resolution of one second.
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      const sentMs = Math.floor(Date.now() / 1000) * 1000;
      const reply = await s.ask({ key });
      const [date, ...more] = reply.lines("date");
      if (date === undefined || more.length > 0)
        return s.fail("one Date", reply, `date: ${reply.lines("date").join(", ")}`);
      // Clocks of client and server may differ; a day-old Date is from the store.
      if (Math.abs(Date.parse(date) - sentMs) > dateSlackMs) s.fail("a Date of now", reply, `date: ${date}`);
    },
  },
  "R-02 exchange: request ids, tracing, rate limits and timings are not replayed": {
    should: "RFC 9110 section 7.6.1",
    ...once("exchange", (s, { first, replay }) => {
      for (const name of ofOneExchange) {
        const line = first.header(name);
        if (line !== undefined && replay.header(name) === line)
          s.fail(`no ${name} from the store`, replay, `${name}: ${line}`);
      }
    }),
  },
  "R-03: cookies are not replayed": {
    should: "RFC 9110 section 5.3",
    ...once("cookies", (s, { first, replay }) => {
      if (first.lines("set-cookie").length === 0) s.fail("Set-Cookie on the first answer", first);
      if (replay.lines("set-cookie").length > 0) s.fail("no Set-Cookie", replay, replay.lines("set-cookie").join("\n"));
    }),
  },
  "R-04: binary content comes back byte for byte, with its length": {
    must: "draft section 2.6",
    ...once("binary", (s, { first, replay }) => {
      const length = replay.header("content-length");
      if (length !== undefined && length !== String(first.body.length))
        s.fail("the correct Content-Length", replay, length);
    }),
  },
  "R-05: an answer without content is replayed without content or content fields": {
    must: "RFC 9110 section 15",
    ...once("noContent", (s, { replay }) => {
      for (const name of ["content-length", "content-type", "transfer-encoding"]) {
        if (replay.header(name) !== undefined) s.fail(`no ${name}`, replay, `${name}: ${replay.header(name) ?? ""}`);
      }
    }),
  },
  "R-05 redirect: a redirection is replayed, not followed": {
    must: "RFC 9110 section 15",
    ...once("redirect"),
  },
  "R-07: the stored representation is replayed whatever is accepted now": {
    should: "draft issue 48",
    run: counting(1, async (s, key) => {
      const first = s.executed(await s.ask({ key, headers: { Accept: "application/json" } }));
      s.replayed(await s.ask({ key, headers: { Accept: "application/xml, */*;q=0.1" } }), first);
    }),
  },
  "R-08: an operation's own 202 is final: the same 202 again, one job": {
    must: "RFC 7240; RFC 9110 section 15.3.3",
    ...once("accepted"),
  },
  "R-09: a streamed answer is recorded whole": {
    must: "draft section 2.6",
    ...once("streamed"),
  },
  "R-10: an answer too large to be stored is delivered whole, and a retry does not run": {
    must: "draft section 2.6: never run again",
    unless: lacking("variants.large"),
    run: counting(1, async (s, key) => {
      const part = s.description.variants?.large;
      s.executed(await s.ask({ ...part, key }));
      const retry = await s.ask({ ...part, key });
      const isReplay = retry.header(s.profile.marker.name) !== undefined;
      if (!isReplay) s.refused(retry, 409, "the answer was not stored");
    }),
  },
  "R-11: an error that the operation made is replayed": {
    should: "draft section 2.6; Stripe; Iceberg",
    ...once("declined"),
  },
  "R-12: the operation's own 422 is replayed, and told apart from the layer's": {
    must: "draft issue 42",
    ...once("unprocessable"),
  },
  "R-14: CORS is computed for the present origin, and the browser may read the marker": {
    should: "Fetch",
    unless: lacking("cors"),
    run: async (s) => {
      const [one, two] = s.description.cors?.origins ?? ["", ""];
      const preflight = await s.ask({
        key: null,
        method: "OPTIONS",
        content: "",
        as: {},
        headers: {
          Origin: one,
          "Access-Control-Request-Method": "POST",
          "Access-Control-Request-Headers": s.profile.header,
        },
      });
      const allowed = preflight.header("access-control-allow-headers")?.toLowerCase() ?? "";
      if (preflight.status >= 300 || !allowed.includes(s.profile.header))
        s.fail(`${s.profile.header} allowed`, preflight, allowed);
      const key = s.freshKey();
      const first = s.executed(await s.ask({ key, headers: { Origin: one } }));
      const replay = s.replayed(await s.ask({ key, headers: { Origin: two } }), first);
      const origin = replay.lines("access-control-allow-origin").join(", ");
      if (origin !== two && origin !== "*") s.fail(`access-control-allow-origin: ${two}`, replay, origin);
      const exposed = replay.header("access-control-expose-headers")?.toLowerCase() ?? "";
      if (!exposed.includes(s.profile.marker.name)) s.fail(`${s.profile.marker.name} exposed`, replay, exposed);
    },
  },
});
