/** R: a replay is the first answer. */
import type { Variants } from "../description.ts";
import { lacking, type ConformCase } from "../case.ts";
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

/** Lines that belong to one exchange. */
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

export const replayCases: readonly ConformCase[] = [
  {
    id: "R-01",
    title: "status, Location, ETag, Last-Modified and Link are replayed",
    level: "must",
    reference: "draft section 2.6",
    run: (s) => s.counting(1, async () => void (await twice(s, undefined))),
  },
  {
    id: "R-02",
    title: "Date is fresh: there is one, and it is of now",
    level: "should",
    reference: "RFC 9110 sections 6.6.1, 7.6.1",
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
  {
    id: "R-02 exchange",
    title: "request ids, tracing, rate limits and timings are not replayed",
    level: "should",
    reference: "RFC 9110 section 7.6.1",
    ...once("exchange", (s, { first, replay }) => {
      for (const name of ofOneExchange) {
        const line = first.header(name);
        if (line !== undefined && replay.header(name) === line)
          s.fail(`no ${name} from the store`, replay, `${name}: ${line}`);
      }
    }),
  },
  {
    id: "R-03",
    title: "cookies are not replayed",
    level: "should",
    reference: "RFC 9110 section 5.3",
    ...once("cookies", (s, { first, replay }) => {
      if (first.lines("set-cookie").length === 0) s.fail("Set-Cookie on the first answer", first);
      if (replay.lines("set-cookie").length > 0) s.fail("no Set-Cookie", replay, replay.lines("set-cookie").join("\n"));
    }),
  },
  {
    id: "R-04",
    title: "binary content comes back byte for byte, with its length",
    level: "must",
    reference: "draft section 2.6",
    ...once("binary", (s, { first, replay }) => {
      const length = replay.header("content-length");
      if (length !== undefined && length !== String(first.body.length))
        s.fail("the correct Content-Length", replay, length);
    }),
  },
  {
    id: "R-05",
    title: "an answer without content is replayed without content or content fields",
    level: "must",
    reference: "RFC 9110 section 15",
    ...once("noContent", (s, { replay }) => {
      for (const name of ["content-length", "content-type", "transfer-encoding"]) {
        if (replay.header(name) !== undefined) s.fail(`no ${name}`, replay, `${name}: ${replay.header(name) ?? ""}`);
      }
    }),
  },
  {
    id: "R-05 redirect",
    title: "a redirection is replayed, not followed",
    level: "must",
    reference: "RFC 9110 section 15",
    ...once("redirect"),
  },
  {
    id: "R-07",
    title: "the stored representation is replayed whatever is accepted now",
    level: "should",
    reference: "draft issue 48",
    run: (s) =>
      s.counting(1, async () => {
        const key = s.freshKey();
        const first = s.executed(await s.ask({ key, headers: { Accept: "application/json" } }));
        s.replayed(await s.ask({ key, headers: { Accept: "application/xml, */*;q=0.1" } }), first);
      }),
  },
  {
    id: "R-08",
    title: "an operation's own 202 is final: the same 202 again, one job",
    level: "must",
    reference: "RFC 7240; RFC 9110 section 15.3.3",
    ...once("accepted"),
  },
  {
    id: "R-09",
    title: "a streamed answer is recorded whole",
    level: "must",
    reference: "draft section 2.6",
    ...once("streamed"),
  },
  {
    id: "R-10",
    title: "an answer too large to be stored is delivered whole, and a retry does not run",
    level: "must",
    reference: "draft section 2.6: never run again",
    unless: lacking("variants.large"),
    run: (s) =>
      s.counting(1, async () => {
        const key = s.freshKey();
        const part = s.description.variants?.large;
        s.executed(await s.ask({ ...part, key }));
        const retry = await s.ask({ ...part, key });
        const isReplay = retry.header(s.profile.marker.name) !== undefined;
        if (!isReplay) s.refused(retry, 409, "the answer was not stored");
      }),
  },
  {
    id: "R-11",
    title: "an error that the operation made is replayed",
    level: "should",
    reference: "draft section 2.6; Stripe; Iceberg",
    ...once("declined"),
  },
  {
    id: "R-12",
    title: "the operation's own 422 is replayed, and told apart from the layer's",
    level: "must",
    reference: "draft issue 42",
    ...once("unprocessable"),
  },
  {
    id: "R-14",
    title: "CORS is computed for the present origin, and the browser may read the marker",
    level: "should",
    reference: "Fetch",
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
];
