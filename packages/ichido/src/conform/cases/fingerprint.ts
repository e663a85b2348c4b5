/** F: what counts as the same request. */
import { gzipSync } from "node:zlib";
import { accepting, counting, defineCases, either, otherContent } from "../case.ts";
import type { Ask, Session } from "../session.ts";
import { reordered, withEscapes, withOtherNumbers } from "./respelled.ts";

type Content = Pick<Ask, "content" | "headers" | "body" | "as">;

/** The first request, retries that are the same, and retries that are not; the first still replays afterwards. */
function compare(first: Content, same: readonly Content[], other: readonly Content[]): (s: Session) => Promise<void> {
  return (s) =>
    s.counting(1, async () => {
      const key = s.freshKey();
      const reply = s.executed(await s.ask({ ...first, key }));
      for (const retry of same) s.replayed(await s.ask({ ...retry, key }), reply);
      for (const retry of other) s.mismatch(await s.ask({ ...retry, key }));
      s.replayed(await s.ask({ ...first, key }), reply);
    });
}

const comparesBytes = ({ description }: Session): string | undefined =>
  description.compare === "bytes" ? "exact content is compared here" : undefined;

const jsonBody = ({ description }: Session): string | undefined =>
  typeof description.operation.body === "object" && description.operation.body !== null
    ? undefined
    : "the described body is not a JSON object";

const text = (content: string): Content => ({ content });
const typed = (type: string, content: string | Uint8Array): Content => ({ content, headers: { "Content-Type": type } });

export const fingerprintCases = defineCases({
  "F-01: other content is refused and not run": {
    must: "draft section 2.7; ACP 6.4",
    unless: otherContent,
    run: counting(1, async (s, key) => {
      s.executed(await s.ask({ key }));
      s.mismatch(await s.ask({ key, ...s.other }));
    }),
  },
  "F-02: a mismatch never alters the record": {
    must: "draft section 2.7",
    unless: otherContent,
    run: (s) => compare({}, [], [s.other, s.other])(s),
  },
  "F-03: member order and white space do not matter": {
    should: "ACP 6.2; JCS",
    unless: either(comparesBytes, jsonBody),
    run: (s) => compare({}, [text(reordered(s.description.operation.body))], [])(s),
  },
  "F-03 arrays: the order of an array and nested members matter": {
    must: "ACP 6.2; JCS",
    unless: accepting("any-json"),
    run: compare(
      text('{"a":{"x":1,"y":[1,2]}}'),
      [],
      [text('{"a":{"x":1,"y":[2,1]}}'), text('{"a":{"x":2,"y":[1,2]}}')],
    ),
  },
  "F-04: numbers are compared by value": {
    should: "ACP 6.2; JCS",
    unless: either(comparesBytes, jsonBody),
    run: (s) => compare({}, [text(withOtherNumbers(s.description.operation.body))], [])(s),
  },
  "F-05: numbers beyond a double stay apart": {
    must: "JCS limits",
    unless: accepting("any-json"),
    run: async (s) => {
      await compare(text('{"a":9007199254740992}'), [], [text('{"a":9007199254740993}')])(s);
      await compare(text('{"a":0.1}'), [], [text('{"a":0.10000000000000000001}')])(s);
    },
  },
  "F-06: escapes are the characters they stand for": {
    should: "JCS",
    unless: either(comparesBytes, jsonBody),
    run: (s) => compare({}, [text(withEscapes(s.description.operation.body))], [])(s),
  },
  "F-06 normal form: nothing is normalised: a decomposed letter is other content": {
    should: "JCS",
    unless: accepting("any-json"),
    run: compare(text('{"a":"\u00e9"}'), [], [text('{"a":"e\u0301"}')]),
  },
  "F-08: an empty object is not an absent body": {
    should: "RFC 9110",
    unless: accepting("empty", "any-json"),
    run: compare(text(""), [{ content: "", headers: { "Content-Length": "0" } }], [text("{}")]),
  },
  "F-09: a charset parameter does not matter": {
    should: "ACP 6.2; OASIS",
    unless: jsonBody,
    run: (s) => {
      const content = JSON.stringify(s.description.operation.body);
      return compare(typed("application/json", content), [typed("application/json; charset=utf-8", content)], [])(s);
    },
  },
  "F-09 type: another media type is other content": {
    should: "ACP 6.2; OASIS",
    unless: accepting("any-json", "form"),
    run: compare(typed("application/json", "{}"), [], [typed("application/x-www-form-urlencoded", "{}")]),
  },
  "F-12: binary content is compared to the last bit": {
    must: "draft section 2.4",
    unless: accepting("binary"),
    run: (s) => {
      const bytes = Uint8Array.from({ length: 256 }, (_, value) => value);
      const flipped = bytes.map((value, index) => (index === 200 ? value ^ 1 : value));
      const octets = (content: Uint8Array): Content => typed("application/octet-stream", content);
      return compare(octets(bytes), [octets(bytes)], [octets(flipped)])(s);
    },
  },
  "F-13: content codings do not matter": {
    should: "RFC 9110 section 8.4",
    unless: either(accepting("gzip"), jsonBody),
    run: (s) => {
      const content = gzipSync(JSON.stringify(s.description.operation.body));
      const headers = { "Content-Encoding": "gzip", "Content-Type": "application/json" };
      return compare({ content, headers }, [{}], [])(s);
    },
  },
  "F-14: headers of the connection, of tracing and of signatures do not matter, nor do renewed credentials": {
    must: "ACP 6.2; OASIS section 5",
    run: (s) => {
      const headers = (digit: string): Record<string, string> => ({
        "User-Agent": `agent/${digit}`,
        Traceparent: `00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333${digit}-01`,
        "X-Signature-Timestamp": digit,
      });
      const { rotated } = s.description;
      return compare(
        { headers: headers("1") },
        [{ headers: headers("2") }, ...(rotated === undefined ? [] : [{ headers: headers("3"), as: rotated }])],
        [],
      )(s);
    },
  },
});
