/** Stored answers with lines that must not be sent: what a replay makes of them. */
import { profiles } from "../../packages/ichido/src/core/contract/profiles.ts";
import type { StoredResponse } from "../../packages/ichido/src/core/contract/record.ts";
import { interimOf, recordedOf, replayOf, tombstoneOf } from "../../packages/ichido/src/core/engine/recorder.ts";
import { sendableOf } from "../../packages/ichido/src/http/send.ts";
import { webResponseOf } from "../../packages/ichido/src/http/web-response.ts";
import { drawLines, forbidden, isFinal, isSoundLine, statuses } from "./hostile-lines.ts";
import { must, type Target } from "./target.ts";

export const replayedLines: Target = {
  name: "replayed-lines",
  promise: "R-02 R-03 A23 a stored answer is replayed without the lines that must not be, and never splits",
  inputs: 40_000,
  open: () => ({
    attempt(random) {
      const headers = drawLines(random);
      const body = random.bytes(random.int(0, 20));
      const stored: StoredResponse = { kind: "full", status: random.pick(statuses), headers, body };
      const profile = random.pick(Object.values(profiles));
      const replayed = replayOf(stored, profile);
      const answer = sendableOf(replayed);
      const made = [answer, interimOf(stored), recordedOf(stored), tombstoneOf(stored)];
      for (const each of made) {
        must(!JSON.stringify(each.headers).includes(forbidden), "a line that must not be sent", headers, each.headers);
      }
      must(isFinal(answer.status), "a status that ends nothing", stored.status, answer.status);
      if (!isFinal(stored.status)) return;
      must(Buffer.compare(answer.body, body) === 0, "another body", stored, answer);
      const kept = answer.headers.filter((line) => isSoundLine(line));
      const sound = headers.filter((line) => isSoundLine(line));
      must(JSON.stringify(kept) === JSON.stringify(sound), "sound lines are not as they were", headers, answer.headers);
      const markers = answer.headers.filter(([name]) => name === profile.marker.name);
      must(markers.length === 1 && markers[0]?.[1] === profile.marker.value, "not one marker", headers, answer.headers);
      const web = webResponseOf(answer);
      must(![...web.headers].flat().join("\n").includes(forbidden), "a line that must not be sent", headers);
    },
  }),
};
