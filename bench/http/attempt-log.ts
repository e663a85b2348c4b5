/**
 * What the attempt log and the look for suspected duplicates cost: CPU of the server and of the store's server, with and
 * without, in pairs of turns right after each other. `npm run bench -- http/attempt-log.ts [stores] [pairs] [seconds]`.
 * Exits with 1 where they cost more than 5 % in the middle of nine pairs or more.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { Child } from "./child.ts";
import type { Mix } from "./contract.ts";
import { Bench, startServer, turnOf, type Running, type Sample } from "./run.ts";
import { Services } from "./services.ts";

const [stores = "postgres,sqlite", pairs = "9", seconds = "2"] = process.argv.slice(2);
/** What gathered last is written within a second: it belongs to the turn that caused it. */
const restMs = 1_300;
const bodyBytes = 150;
const ratioMax = 1.05;
/** Of fewer pairs the middle is chance. */
const pairsMin = 9;

type Store = Parameters<Services["placeOf"]>[0]["store"];

const middle = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

/** Microseconds of one request, in all processes. */
const cpuOf = ({ cpuUs, storeMs = 0 }: Sample): number => cpuUs + storeMs / 10;

async function compare(store: Store, bench: Bench, opened: Services[]): Promise<void> {
  const open = async (file: string): Promise<Running> => {
    const server = { name: `${file}-${store}`, file, framework: "express", store } as const;
    // A server of the store for each: connections that the other gives up would be missing in the sum.
    const services = new Services();
    opened.push(services);
    const running = await startServer(server, await services.placeOf(server));
    await bench.fill(running, bodyBytes);
    await bench.warm(running, "new", bodyBytes);
    return running;
  };
  const [off, on] = [await open("unlogged-express"), await open("ichido-express")];
  for (const mix of ["new", "replay"] satisfies Mix[]) {
    const ratios: number[] = [];
    const costs: [number, number][] = [];
    const spend = async (running: Running): Promise<number> => {
      const { sample } = await bench.turn(running, turnOf(running, mix, bodyBytes, { seconds: Number(seconds) }));
      return cpuOf(sample);
    };
    for (let pair = 0; pair < Number(pairs); pair += 1) {
      const first = pair % 2 === 0 ? off : on;
      const one = await spend(first);
      const other = await spend(first === off ? on : off);
      const [without, logged] = first === off ? [one, other] : [other, one];
      ratios.push(logged / without);
      costs.push([without, logged]);
    }
    if (ratios.length >= pairsMin && middle(ratios) > ratioMax) {
      console.error(`${store}, ${mix}: more than ${ratioMax}`);
      process.exitCode = 1;
    }
    const [least, most] = [Math.min(...ratios), Math.max(...ratios)];
    const us = (at: 0 | 1): string => middle(costs.map((each) => each[at])).toFixed(1);
    console.log(
      `${store}, ${mix}: ${us(0)} us without, ${us(1)} us with; ratio ${middle(ratios).toFixed(3)} ` +
        `(${least.toFixed(3)} to ${most.toFixed(3)}, ${ratios.length} pairs)`,
    );
  }
  for (const { child } of [off, on]) {
    await child.ask("close");
    child.end();
  }
}

const opened: Services[] = [];
const [generator] = await Child.start("load.ts", [], "any");
try {
  for (const store of stores.split(",")) {
    await compare(store as Store, new Bench(generator, 64, () => sleep(restMs)), opened);
  }
} finally {
  generator.end();
  for (const each of opened) await each.close();
}
