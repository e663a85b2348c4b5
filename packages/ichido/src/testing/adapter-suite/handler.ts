/** The handler behind every route: does what the request's plan says, and makes the answer. */
import { randomUUID } from "node:crypto";
import type { Effects, TransactionalEffects } from "./effects.ts";
import type { Gates } from "./gates.ts";
import { contentBytes, planHeader, readPlan, type HarnessAnswer, type HarnessCall, type Plan } from "./plan.ts";

async function* eventsOf(plan: Plan, gates: Gates): AsyncGenerator<string> {
  yield "data: 1\n\n";
  if (plan.eventsGate !== undefined) await gates.pass(plan.eventsGate);
  yield "data: 2\n\n";
  yield "data: 3\n\n";
}

function answerTo(plan: Plan, id: string, gates: Gates): HarnessAnswer {
  const content = plan.content ?? { json: { id } };
  const isJson = "json" in content || "text" in content;
  const body = contentBytes(content);
  const headers = plan.headers ?? [
    ["Location", `/things/${id}`],
    ["ETag", `"${id}"`],
  ];
  const hasType = headers.some(([name]) => name.toLowerCase() === "content-type");
  const type = isJson ? "application/json; charset=utf-8" : "application/octet-stream";
  return {
    status: plan.status ?? 201,
    headers: hasType || "none" in content ? headers : [...headers, ["Content-Type", type]],
    body,
    json: isJson ? JSON.parse(Buffer.from(body).toString()) : undefined,
    events: eventsOf(plan, gates),
    way: plan.way ?? "send",
    hints: plan.hints ?? false,
  };
}

function failure(plan: Plan): Error {
  return Object.assign(
    new Error("planned failure"),
    plan.throwsStatus === undefined ? {} : { status: plan.throwsStatus },
  );
}

export interface HandlerParts {
  readonly effects: Effects;
  readonly arrivals?: Effects;
  readonly transactional?: TransactionalEffects | undefined;
  readonly gates: Gates;
}

export function createHandler(parts: HandlerParts): (call: HarnessCall) => Promise<HarnessAnswer> {
  const { arrivals, effects, gates, transactional } = parts;
  const versions = new Map<string, number>();
  let greatestFence = 0;

  /** The check and the change of a version happen together, as they would in one statement of a database. */
  function changeVersion(call: HarnessCall): HarnessAnswer | undefined {
    const version = versions.get(call.target) ?? 1;
    const given = call.header("if-match");
    if (given !== `"v${version}"`) {
      return answerTo({ status: given === undefined ? 428 : 412, content: { none: true }, headers: [] }, "", gates);
    }
    versions.set(call.target, version + 1);
    return undefined;
  }

  function note(plan: Plan, fence: number): void {
    if (plan.fenced === true) {
      if (fence < greatestFence) return;
      greatestFence = fence;
    }
    for (let effect = 0; effect < (plan.effects ?? 1); effect += 1) effects.note(fence, plan.tally);
  }

  async function handle(call: HarnessCall): Promise<HarnessAnswer> {
    const plan = readPlan(call.header(planHeader));
    const context = call.idempotency;
    const fence = context?.fence ?? 0;
    arrivals?.note(fence, plan.tally);
    if (plan.fenced === true) greatestFence = Math.max(greatestFence, fence);
    if (plan.throws === "before") throw failure(plan);
    if (plan.gate !== undefined) await gates.pass(plan.gate);
    if (plan.sleepMs !== undefined) await new Promise((resolve) => setTimeout(resolve, plan.sleepMs));
    const answer = answerTo(plan, randomUUID(), gates);
    if (plan.conditional === true) {
      const refusal = changeVersion(call);
      if (refusal !== undefined) return refusal;
    }
    if (plan.transaction === true && context !== undefined && transactional !== undefined) {
      await context.transaction(async (_tx, handleOnIt) => {
        await transactional.note(handleOnIt, plan.tally);
        if (plan.throws === "after") throw failure(plan);
        return { status: answer.status, headers: Object.fromEntries(answer.headers), body: answer.json };
      });
      return { ...answer, way: "provided" };
    }
    if (plan.step === undefined) note(plan, fence);
    else {
      await context?.step(plan.step, () => {
        note(plan, fence);
        return null;
      });
    }
    if (plan.unknown === true) {
      await context?.unknown({ status: 202, body: { state: "open" } });
      return { ...answer, way: "provided" };
    }
    if (plan.throws === "after") throw failure(plan);
    if (plan.release === true) context?.release();
    return answer;
  }

  return handle;
}
