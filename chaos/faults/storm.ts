/** All kinds side by side, each at its own pace, until the time is over. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Tally } from "../tally.ts";
import { bankFault } from "./bank-faults.ts";
import type { Fault, Scene } from "./fault.ts";
import { lineFaultsOf } from "./line-faults.ts";
import { processFaults } from "./process-faults.ts";
import { storeFaultsOf } from "./store-faults.ts";

const missedMs = 150;

/** These befall whoever asks, or a server that passes a point of the engine; nobody has to strike. */
const byThemselves = ["answer-lost", "caller-gone", "kill-at-point"];

/** `only`: the names of some; absent: all that this store can suffer. */
export function faultsOf({ backend, only }: Pick<Scene, "backend" | "only">): readonly Fault[] {
  const all = [
    ...processFaults,
    ...(backend.line === undefined ? [] : lineFaultsOf(backend.line)),
    ...storeFaultsOf(backend),
    bankFault,
  ];
  return only === undefined ? all : all.filter(({ name }) => only.includes(name));
}

/** The names of everything that must have struck. */
export const kindsOf = (scene: Pick<Scene, "backend" | "only">): readonly string[] => [
  ...faultsOf(scene).map(({ name }) => name),
  ...byThemselves.filter((name) => scene.only?.includes(name) ?? true),
];

export async function storm(
  scene: Scene,
  tally: Tally,
  isOver: () => boolean,
  faults: readonly Fault[] = faultsOf(scene),
): Promise<void> {
  const turns = new Map<Fault["needs"], Promise<unknown>>();
  /** One after the other, whoever asked first. */
  const alone = (needs: Fault["needs"], work: () => Promise<boolean>): Promise<boolean> => {
    const turn = (turns.get(needs) ?? Promise.resolve()).then(() => (isOver() ? false : work()));
    turns.set(
      needs,
      turn.catch(() => undefined),
    );
    return turn;
  };
  const strike = async (fault: Fault): Promise<boolean> => {
    const work = (): Promise<boolean> => fault.strike(scene);
    return fault.needs === undefined ? work() : alone(fault.needs, work);
  };
  const repeat = async (fault: Fault): Promise<void> => {
    const everyMs = fault.everyMs * scene.pace;
    await sleep(everyMs * scene.random.next());
    while (!isOver()) {
      const hasHit = await strike(fault).catch((error: unknown) => {
        tally.trouble(`${fault.name} could not strike: ${String(error)}`);
        return false;
      });
      if (hasHit) tally.hit(fault.name);
      await sleep(hasHit ? everyMs * scene.random.between(0.5, 1.5) : missedMs);
    }
  };
  await Promise.all(faults.map(repeat));
}
