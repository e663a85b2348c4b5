/** A16 to A27: which answers are stored, and that they are stored unchanged. */
import assert from "node:assert/strict";
import { appCases, casesNeeding, type AdapterCase } from "./case.ts";
import { eventually, requestText, sendRaw, type Ask } from "./client.ts";
import { isLive, isReplayed } from "./plan.ts";
import { keeps, runs } from "./repeats.ts";
import { assertExecuted, assertRefused, assertReplayed, freshKey, unfinishedIn } from "./rig.ts";

const releasing = [401, 403, 408, 412, 413, 415, 425, 428, 429];

export const answerCases: readonly AdapterCase[] = [
  ...(
    [
      [500, "runs"],
      [503, "runs"],
      [429, "runs"],
      [400, "keeps"],
    ] as const
  ).flatMap(([status, what]) =>
    appCases({
      [`A16 ${status}: ${what === "runs" ? "lets the next attempt run" : "is kept"}`]: async (app, key, rig) => {
        const options: Ask = { key: freshKey(), plan: { status } };
        if (what === "keeps") await keeps(app, options);
        else {
          await runs(app, options, 2);
          await keeps(app, { key: options.key ?? null });
        }
        assert.equal(await unfinishedIn(rig), 0);
      },
    }),
  ),
  ...[200, 201, 202, 303, 404, 409].flatMap((status) =>
    appCases({
      [`A17 ${status}: from the handler is kept`]: async (app, key) => {
        await keeps(app, { key, plan: { status, headers: [["Location", "/x"]] } });
      },
    }),
  ),
  ...Object.entries<Ask["plan"]>({
    "204": { status: 204, content: { none: true }, headers: [] },
    "empty 200": { status: 200, content: { none: true }, headers: [] },
    false: { status: 200, content: { json: false } },
    "0": { status: 200, content: { json: 0 } },
    null: { status: 200, content: { json: null } },
    '""': { status: 200, content: { json: "" } },
  }).flatMap(([name, plan]) =>
    appCases({
      [`A19 ${name}: is replayed as it was, and the handler does not run again`]: async (app, key, rig) => {
        const isValue = plan?.content !== undefined && "json" in plan.content;
        const way = isValue && rig.subject.ways.includes("json") ? "json" : "send";
        await keeps(app, { key, plan: { ...plan, way } });
      },
    }),
  ),
  ...appCases({
    "A16 thrown: a thrown error lets the next attempt run, and nothing stays stuck": async (app, key, rig) => {
      for (const throws of ["before", "after"] as const) assertExecuted(await app.ask({ key, plan: { throws } }), 500);
      await keeps(app, { key });
      assert.deepEqual([app.effects(), await unfinishedIn(rig)], [2, 0]);
    },
    "A16 thrown status: an error that carries a client status is answered with it, and kept": async (app, key) => {
      const options: Ask = { key, plan: { throws: "before", throwsStatus: 422 } };
      const first = assertExecuted(await app.ask(options), 422);
      assertReplayed(await app.ask(options), first);
    },
    [`A17 released: ${releasing.join(" ")} from the handler are not kept`]: async (app, key) => {
      for (const status of releasing) await runs(app, { key, plan: { status } }, 2);
    },
    "A17 release(): what a handler gives back is sent and not kept": async (app, key) => {
      await runs(app, { key, plan: { status: 200, release: true } }, 2);
      await keeps(app, { key });
    },
    "A20: 64 KiB of random bytes are the same in every way of writing them": async (app, key, rig) => {
      const ways = rig.subject.ways.filter((way) => isReplayed(way) && way !== "json" && way !== "void");
      for (const way of ["send", ...ways]) {
        const first = await keeps(app, { key: freshKey(), plan: { way, content: { random: 65_536, seed: 20 } } });
        assert.equal(first.body.length, 65_536, way);
      }
    },
    "A21: every way of writing is captured whole and replayed alike": async (app, key, rig) => {
      for (const way of rig.subject.ways.filter(isReplayed)) {
        for (const size of [5, 40_000]) {
          const content = { text: size };
          const first = await keeps(app, { key: freshKey(), plan: { way, content, headers: [["X-Way", way]] } });
          assert.deepEqual(first.lines("x-way"), [way]);
        }
      }
    },
    "A22: Location, ETag, two Links and custom headers are kept with their number": async (app, key, rig) => {
      const headers = [
        ["Location", "/things/1"],
        ["ETag", 'W/"1"'],
        ["Link", '</a>; rel="next"'],
        ["Link", '</b>; rel="prev"'],
        ["X-Custom", "1"],
        ["X-Custom", "2"],
      ] as const;
      for (const way of ["send", ...rig.subject.ways.filter((each) => ["write", "json", "writeHead"].includes(each))]) {
        const options: Ask = { key: freshKey(), plan: { headers, way } };
        const first = await keeps(app, options);
        const replay = await app.ask(options);
        for (const reply of [first, replay]) {
          assert.deepEqual(reply.lines("link"), ['</a>; rel="next"', '</b>; rel="prev"'], way);
          assert.deepEqual(reply.lines("x-custom"), ["1", "2"], way);
        }
      }
    },
    "A23: Set-Cookie, hop-by-hop lines and Date are not replayed; the length is right": async (app, key) => {
      const headers = [
        ["Set-Cookie", "session=secret"],
        ["Connection", "X-Hop"],
        ["Proxy-Authenticate", "Basic"],
        ["Date", "Thu, 01 Jan 2015 00:00:00 GMT"],
      ] as const;
      const options: Ask = { key, plan: { headers } };
      const first = await keeps(app, options);
      const replay = await app.ask(options);
      for (const name of ["set-cookie", "proxy-authenticate"]) assert.deepEqual(replay.lines(name), [], name);
      assert.notEqual(replay.header("connection"), "X-Hop");
      assert.notEqual(replay.header("date"), first.header("date"));
      assert.equal(replay.header("content-length"), String(first.body.length));
    },
    "A27: an answer above the cap is never run again, also when its client left half way": async (app, key, rig) => {
      const plan = { content: { random: 3_000_000, seed: 27 }, headers: [["Location", "/big"]] } as const;
      const options: Ask = { to: "small", key, plan };
      const socket = await sendRaw(app.port, requestText(options));
      socket.pause();
      await eventually("the tombstone", async () => (await rig.store.stats()).completed === 1);
      socket.destroy();
      const problem = assertRefused(await app.ask(options), 409, "response-not-stored");
      assert.equal(problem["location"], "/big");
      assert.equal(app.effects(), 1);
    },
  }),
  ...casesNeeding(["way:void"], {
    "A19 void: an answer of nothing is replayed as nothing": async (rig) => {
      const app = await rig.start();
      await keeps(app, { key: freshKey(), plan: { status: 200, way: "void", headers: [] } });
    },
  }),
  ...casesNeeding(["way:events"], {
    "A25: an event stream is delivered live; a retry is told so and does not run": async (rig) => {
      const app = await rig.start();
      for (const way of rig.subject.ways.filter(isLive)) {
        const options: Ask = { key: freshKey(), plan: { way, status: 200, eventsGate: way } };
        const before = app.effects();
        const socket = await sendRaw(app.port, requestText(options));
        let seen = "";
        socket.on("data", (chunk: Buffer) => {
          seen += chunk.toString("latin1");
        });
        await eventually(`the first event of ${way}`, () => seen.includes("data: 1"));
        assert.ok(!seen.includes("data: 2"));
        assertRefused(await app.ask(options), 409, "response-not-stored");
        app.gates.open(way);
        await eventually(`the last event of ${way}`, () => seen.includes("data: 3"));
        socket.destroy();
        assertRefused(await app.ask(options), 409, "response-not-stored");
        assert.equal(app.effects() - before, 1);
      }
    },
  }),
];
