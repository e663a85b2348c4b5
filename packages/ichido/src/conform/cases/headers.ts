/** H: what a key may look like in the header. Keys are new in every run: servers remember. */
import { randomUUID } from "node:crypto";
import { bareKeys, counting, defineCases, either, onlyUuids, strictKeys } from "../case.ts";
import type { Session } from "../session.ts";

/** All are refused, and nothing runs. */
function refusesAll(keys: readonly (string | readonly string[])[], raw = false): (s: Session) => Promise<void> {
  return (s) =>
    s.counting(0, async () => {
      for (const key of keys) s.refusedKey(await s.ask({ key, raw }));
    });
}

/** Two UUIDs of version 4, the first beginning with a digit and the second with a letter. */
const bareUuids = (): readonly string[] => ["8", "a"].map((digit) => digit + randomUUID().slice(1));

export const headerCases = defineCases({
  "H-01: a quoted key is accepted": {
    must: "draft section 2.1",
    unless: ({ profile }) => (profile.keyForm === "bare" ? "keys are bare here: quotes are optional data" : undefined),
    run: counting(1, async (s) => void s.executed(await s.ask({ key: `"${randomUUID()}"` }))),
  },
  "H-02: bare UUIDs are treated alike, whether they begin with a digit or a letter": {
    must: "RFC 9651 types; Stripe and Telnyx bare",
    run: (s) =>
      s.counting(s.profile.keyForm === "strict" ? 0 : 2, async () => {
        for (const key of bareUuids()) {
          s.renew();
          const reply = await s.ask({ key });
          if (s.profile.keyForm === "strict") s.refusedKey(reply);
          else s.replayed(await s.ask({ key }), s.executed(reply));
        }
      }),
  },
  "H-03: the quoted and the bare form are one key": {
    must: "draft section 2.1",
    unless: either(bareKeys, strictKeys),
    run: counting(1, async (s) => {
      const key = randomUUID();
      const first = s.executed(await s.ask({ key: `"${key}"` }));
      s.replayed(await s.ask({ key }), first);
    }),
  },
  "H-04: parameters of a structured string are ignored": {
    should: "RFC 9651 section 2.3",
    unless: bareKeys,
    run: counting(1, async (s) => {
      const key = `"${randomUUID()}"`;
      const first = s.executed(await s.ask({ key }));
      s.replayed(await s.ask({ key: `${key};v=1;grease` }), first);
    }),
  },
  "H-04 bare: where keys are bare, parameters are refused": {
    should: "RFC 9651 section 2.3",
    unless: ({ profile }) => (profile.keyForm === "bare" ? undefined : "keys may be structured strings here"),
    run: refusesAll(['"abc";v=1']),
  },
  "H-05: an empty key is refused, quoted or not": {
    must: "draft section 5; RFC 9651 section 4.2",
    // An empty field may also count as absent, where that is refused too.
    unless: ({ description }) => (description.keyRequired === false ? "an empty field may count as absent" : undefined),
    run: refusesAll(['""', "", "   "]),
  },
  "H-06: a key of the greatest length is taken, a longer one is refused, and nothing is cut": {
    must: "draft section 5; Stripe",
    unless: onlyUuids,
    run: counting(1, async (s) => {
      const longest = randomUUID().padEnd(s.profile.keyLengthMax, "k");
      const form = (key: string): string => (s.profile.keyForm === "bare" ? key : `"${key}"`);
      const first = s.executed(await s.ask({ key: form(longest) }));
      s.refusedKey(await s.ask({ key: form(`${longest}x`) }));
      s.replayed(await s.ask({ key: form(longest) }), first);
    }),
  },
  "H-07: raw UTF-8, Latin-1, a tab, DEL and controls inside the quotes are refused": {
    must: "RFC 9651 section 3.3.3",
    run: refusesAll(['"caf\u00c3\u00a9"', '"caf\u00e9"', '"a\tb"', '"a\u007fb"', '"a\u0001b"'], true),
  },
  "H-08: two keys are refused: as two lines, equal or not, and as a proxy merges them": {
    must: "RFC 9110 section 5.3; RFC 9651",
    run: refusesAll([['"a"', '"b"'], ['"a"', '"a"'], '"a", "b"']),
  },
  "H-09: a comma or semicolon inside quotes is part of the key; a bare list is refused": {
    must: "RFC 9651",
    unless: onlyUuids,
    run: counting(1, async (s) => {
      const key = `"a,b;c ${randomUUID()}"`;
      const first = s.executed(await s.ask({ key }));
      s.replayed(await s.ask({ key }), first);
      s.refusedKey(await s.ask({ key: "a, b" }));
    }),
  },
  "H-10: escapes are those of structured strings, and nothing may follow the closing quote": {
    must: "RFC 9651",
    unless: bareKeys,
    run: (s) =>
      s.counting(onlyUuids(s) === undefined ? 1 : 0, async () => {
        if (onlyUuids(s) === undefined) {
          const key = String.raw`"a\"b\\c ${randomUUID()}"`;
          const first = s.executed(await s.ask({ key }));
          s.replayed(await s.ask({ key }), first);
        }
        for (const key of [String.raw`"a\x"`, '"abc', '"abc"x', '"a" "b"']) s.refusedKey(await s.ask({ key }));
      }),
  },
  "H-11: every other structured type is refused": {
    must: "RFC 9651",
    unless: ({ profile }) => (profile.keyForm === "strict" ? undefined : "keys need not be structured strings here"),
    run: refusesAll(["123", "1.5", "?1", ":YWJj:", "@1", '%"x"', '("a")']),
  },
  "H-13: case and inner spaces matter": {
    must: "AWS; draft issue 34",
    unless: either(onlyUuids, bareKeys),
    run: counting(3, async (s) => {
      const tail = randomUUID();
      for (const key of [`"Ab ${tail}"`, `"ab ${tail}"`, `"Ab ${tail} "`]) {
        s.executed(await s.renewed(() => s.ask({ key })));
      }
    }),
  },
  "H-13 uuid: where keys are UUIDs, hexadecimal digits are equal in any case, and other keys are refused": {
    must: "RFC 9562",
    unless: (s) => (onlyUuids(s) === undefined ? "keys need not be UUIDs here" : undefined),
    run: counting(1, async (s) => {
      const key = randomUUID();
      const first = s.executed(await s.ask({ key }));
      s.replayed(await s.ask({ key: key.toUpperCase() }), first);
      for (const other of ["k1", "00000000-0000-1000-8000-000000000000", `${key}0`]) {
        s.refusedKey(await s.ask({ key: other }));
      }
    }),
  },
});
