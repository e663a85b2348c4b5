/** One thing at a time, and what went wrong with it. */
import { useState } from "preact/hooks";
import { ApiFailure } from "../api.ts";
import { TabRefused } from "../second-tab.ts";
import { words } from "../i18n/words.ts";

export interface Doing {
  readonly isBusy: boolean;
  readonly problem: string | undefined;
  run(this: void, work: () => Promise<unknown>): void;
}

function sentenceOf(error: unknown): string {
  if (error instanceof TabRefused) return words().faults.tabRefused;
  if (error instanceof ApiFailure && error.status === 403) return `${words().refused}. ${words().refusedAdvice}`;
  return `${words().failed}: ${(error as Error).message}`;
}

export function useDoing(): Doing {
  const [isBusy, setIsBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  return {
    isBusy,
    problem,
    run(work) {
      if (isBusy) return;
      setIsBusy(true);
      setProblem(undefined);
      void work()
        .catch((error: unknown) => setProblem(sentenceOf(error)))
        .finally(() => setIsBusy(false));
    },
  };
}
