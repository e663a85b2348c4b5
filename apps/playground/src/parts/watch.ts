/** Reads again and again while something goes on, so that the page shows it as it happens. */
import { useEffect, useState } from "preact/hooks";
import type { RunView } from "../../../shop/src/playground/contract.ts";
import { api } from "../api.ts";

const EVERY_MS = 250;

export function useRun(run: string | undefined, isGoing: boolean): RunView | undefined {
  const [view, setView] = useState<RunView>();
  useEffect(() => {
    if (run === undefined) {
      setView(undefined);
      return undefined;
    }
    let isOver = false;
    const read = async (): Promise<void> => {
      const next = await api.run(run).catch(() => undefined);
      if (isOver) return;
      if (next !== undefined) setView(next);
      if (isGoing || (next?.inFlight ?? 0) > 0) setTimeout(() => void read(), EVERY_MS);
    };
    void read();
    return () => {
      isOver = true;
    };
  }, [run, isGoing]);
  return view?.run === run ? view : undefined;
}
