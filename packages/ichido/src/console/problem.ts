/** An answer that is no success: thrown by whoever finds it out, sent by the handler. */
import type { LetterView, Permission, ProblemAnswer, ProblemCode, RecordView } from "./contract.ts";

const statuses: Readonly<Record<ProblemCode, number>> = {
  denied: 403,
  "not-permitted": 403,
  "read-only": 403,
  "cross-site": 403,
  token: 403,
  parameter: 400,
  body: 400,
  "too-large": 413,
  "not-found": 404,
  "no-part": 404,
  changed: 409,
  refused: 409,
  unchecked: 409,
  method: 405,
  busy: 503,
  timeout: 503,
  store: 502,
};

export class Problem extends Error {
  override readonly name: string = "Problem";
  readonly status: number;
  readonly answer: ProblemAnswer;

  constructor(
    code: ProblemCode,
    message: string,
    more: {
      readonly needs?: Permission;
      readonly parameter?: string;
      readonly record?: RecordView;
      readonly letter?: LetterView;
      readonly status?: number;
    } = {},
  ) {
    super(message);
    const { status, ...told } = more;
    this.status = status ?? statuses[code];
    this.answer = { code, message, ...told };
  }
}
