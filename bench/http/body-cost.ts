/** What a body costs whoever compares its content: called bare, in the process of the bench, in the same run. */
import { hash } from "node:crypto";
import { median } from "../measure.ts";
import { requestBody } from "./request-body.ts";
import { canonicalJson } from "../../packages/ichido/src/core/request/canonical-json.ts";

const calls = 2_000;
const turns = 5;

function microseconds(work: () => unknown): number {
  const one = (): number => {
    const startMs = performance.now();
    for (let call = 0; call < calls; call += 1) work();
    return ((performance.now() - startMs) * 1_000) / calls;
  };
  one();
  return median(Array.from({ length: turns }, one));
}

export function bodyCost(bytes: number): string {
  const body = requestBody(bytes);
  const text = String(body);
  const once = microseconds(() => hash("sha256", body));
  const both = microseconds(() => [hash("sha256", body), hash("sha256", canonicalJson(text) ?? "")]);
  return `A body of ${bytes} B: one SHA-256 ${once.toFixed(1)} µs, the canonicaliser and two SHA-256 ${both.toFixed(1)} µs.`;
}
