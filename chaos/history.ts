/** What was asked for and what was answered. Answers are judged as they come; effects in the end. */
import type { Order, Policy, Receipt } from "./policies.ts";
import type { Answer } from "./wire.ts";

export interface Violation {
  readonly invariant: string;
  readonly detail: string;
}

export interface Operation {
  readonly number: number;
  readonly policy: Policy;
  readonly caller: string;
  readonly key: string;
  readonly order: Order;
  /** Somebody was told that it happened. */
  isAcknowledged: boolean;
  /** The first answer that was told as stored. */
  answer?: { readonly text: string; readonly made: string; readonly receipt: Receipt };
  /** The last thing that was answered. */
  last: string;
}

export class History {
  /** The store may lose what it had acknowledged. */
  readonly isForgetful: boolean;
  /** Those that are not judged yet. */
  operations: Operation[] = [];
  /** In all. */
  begun = 0;
  readonly violations: Violation[] = [];
  readonly statuses = new Map<string, number>();
  answers = 0;
  /** Nothing goes wrong any more: all is asked for once more, which is no proof that anything goes on under faults. */
  isCalm = false;
  /** Of those, until it was calm; and what was replayed until then. */
  stormAnswers = 0;
  replays = 0;
  interrupted = 0;
  mismatches = 0;
  /** True answers that the store had not taken when they were given. */
  unstored = 0;

  /** Answers that were made anew, and charges: the store had forgotten them. */
  forgotten = 0;

  constructor(isForgetful = false) {
    this.isForgetful = isForgetful;
  }

  begin(operation: Omit<Operation, "isAcknowledged" | "last">): Operation {
    const begun: Operation = { ...operation, isAcknowledged: false, last: "nothing" };
    this.begun += 1;
    this.operations.push(begun);
    return begun;
  }

  violate(invariant: string, detail: string): void {
    this.violations.push({ invariant, detail });
  }

  /** A violation, unless the store is one that forgets. */
  forget(invariant: string, detail: string): void {
    if (this.isForgetful) this.forgotten += 1;
    else this.violate(invariant, detail);
  }

  #count(answer: Answer | undefined): answer is Answer {
    if (answer === undefined) {
      this.interrupted += 1;
      return false;
    }
    this.answers += 1;
    if (!this.isCalm) this.stormAnswers += 1;
    const name = `${answer.status}${codeOf(answer)}`;
    this.statuses.set(name, (this.statuses.get(name) ?? 0) + 1);
    return true;
  }

  /** The same request again, or for the first time. Tells whether the answer is final. */
  note(operation: Operation, answer: Answer | undefined): boolean {
    if (!this.#count(answer)) return false;
    const what = `${operation.policy} ${operation.order.intent}`;
    operation.last = `${answer.status}${codeOf(answer)}`;
    if (answer.status === 422) this.violate("reused-untrue", `${what} was never asked for anything else`);
    if (answer.status !== 201) return false;
    const receipt = JSON.parse(answer.text) as Receipt;
    if (receipt.intent !== operation.order.intent || receipt.caller !== operation.caller) {
      this.violate("answer-foreign", `${what} of ${operation.caller} was answered ${answer.text}`);
      return true;
    }
    operation.isAcknowledged = true;
    if (answer.headers["idempotency-replayed"] === "true" && !this.isCalm) this.replays += 1;
    if (answer.headers["idempotency-stored"] === "false") {
      this.unstored += 1;
      return false;
    }
    const made = String(answer.headers["x-made"]);
    const before = operation.answer;
    operation.answer ??= { text: answer.text, made, receipt };
    if (before !== undefined && (before.text !== answer.text || before.made !== made)) {
      operation.answer = { text: answer.text, made, receipt };
      this.forget("answer-changed", `${what} was answered ${before.text}, then ${answer.text}`);
    }
    return true;
  }

  /** The same key with other content, after it had its answer. */
  noteMismatch({ policy, order }: Operation, answer: Answer | undefined): void {
    if (!this.#count(answer) || answer.status >= 500) return;
    if (answer.status === 422) this.mismatches += 1;
    else this.violate("mismatch-passed", `${policy} ${order.intent}, other content: ${answer.status} ${answer.text}`);
  }
}

function codeOf({ text }: Answer): string {
  const code = /"code":"([^"]+)"/.exec(text)?.[1];
  return code === undefined ? "" : ` ${code}`;
}
