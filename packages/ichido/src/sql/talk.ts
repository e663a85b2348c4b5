/**
 * Statements of which each may depend on the answer to the one before, as a generator: the same rules then run on a
 * connection that answers at once and on one that answers later. An error is thrown into it where its statement stands.
 */
export type Talk<Asked, Answer, Result> = Generator<Asked, Result, Answer>;

export function talkNow<Asked, Answer, Result>(
  talk: Talk<Asked, Answer, Result>,
  ask: (asked: Asked) => Answer,
): Result {
  let next = talk.next();
  while (next.done !== true) {
    let answer: Answer;
    try {
      answer = ask(next.value);
    } catch (error) {
      next = talk.throw(error);
      continue;
    }
    next = talk.next(answer);
  }
  return next.value;
}

export async function talkLater<Asked, Answer, Result>(
  talk: Talk<Asked, Answer, Result>,
  ask: (asked: Asked) => Promise<Answer>,
): Promise<Result> {
  let next = talk.next();
  while (next.done !== true) {
    let answer: Answer;
    try {
      answer = await ask(next.value);
    } catch (error) {
      next = talk.throw(error);
      continue;
    }
    next = talk.next(answer);
  }
  return next.value;
}
