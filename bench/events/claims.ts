/**
 * How long the statement takes by which a relay reads its next events: with 50,000 keys waiting against 500, and while
 * another session holds a snapshot for the whole run, so that the server can remove nothing of what was sent.
 */
import { createRelay, type Outbox } from "ichido/outbox";
import { median, quantile } from "../measure.ts";
import { openMariadbBed, openPostgresBed, type Claim, type ClaimBed } from "./claim-beds.ts";
import { countingPublisher } from "./relay.ts";

const batch = 250;
const many = 50_000;
const few = 500;
/** Claims of a turn: so many that those who wait stay nearly as many. */
const claimsATurn = 20;
const heldMessages = 100_000;
const aRound = 2_000;
const compared = 100;

/** Times of claims that brought a whole batch. */
const full = (claims: readonly Claim[]): number[] =>
  claims.filter(({ found }) => found >= batch).map(({ tookMs }) => tookMs);

const ms = (value: number): string => `${value.toFixed(1)} ms`;

async function relayUntil(outbox: Outbox, count: number): Promise<void> {
  const publisher = countingPublisher();
  const relay = createRelay(outbox, { routes: { null: publisher }, batch });
  await relay.start();
  await publisher.until(count);
  await relay.stop();
}

let outboxes = 0;
const newPrefix = (): string => `b${(outboxes += 1)}_`;

/** The median claim while about so many keys wait. */
async function claimAmong(bed: ClaimBed, waiting: number, analyzed: boolean): Promise<number> {
  const claims: Claim[] = [];
  const prefix = newPrefix();
  const outbox = await bed.createOutbox(prefix, claims);
  await bed.analyze(prefix);
  if (waiting > few) {
    await bed.fill(prefix, waiting);
    if (analyzed) await bed.analyze(prefix);
    await relayUntil(outbox, claimsATurn * batch);
  } else {
    for (let turn = 0; turn < claimsATurn / 2; turn += 1) {
      await bed.fill(prefix, waiting);
      if (analyzed && turn === 0) await bed.analyze(prefix);
      await relayUntil(outbox, waiting);
    }
  }
  return median(full(claims));
}

async function benchWaiting(bed: ClaimBed, rounds: number, analyzed: boolean): Promise<void> {
  const pairs: { readonly few: number; readonly many: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const [first, second] = round % 2 === 0 ? [few, many] : [many, few];
    const one = await claimAmong(bed, first, analyzed);
    const other = await claimAmong(bed, second, analyzed);
    pairs.push(first === few ? { few: one, many: other } : { few: other, many: one });
  }
  console.log(
    `${bed.name}, claim of ${batch} among ${many} keys${analyzed ? ", analyzed" : " right after they came"}: ` +
      `${ms(median(pairs.map((pair) => pair.many)))} (bar 10), among ${few} ${ms(median(pairs.map((pair) => pair.few)))}: ` +
      `${median(pairs.map((pair) => pair.many / pair.few)).toFixed(2)} x, median of ${rounds} pairs`,
  );
}

interface Growth {
  readonly first: number;
  readonly last: number;
  readonly slowest: number;
}

/** The first hundred claims and the last hundred, of a relay at work while messages come. */
async function growth(bed: ClaimBed, keys: number | undefined, held: boolean): Promise<Growth> {
  const claims: Claim[] = [];
  const prefix = newPrefix();
  const outbox = await bed.createOutbox(prefix, claims);
  const release = held ? await bed.holdSnapshot(prefix) : undefined;
  const publisher = countingPublisher();
  const relay = createRelay(outbox, { routes: { null: publisher }, batch, idleMs: 1, idleMsMax: 1 });
  await relay.start();
  for (let sent = aRound; sent <= heldMessages; sent += aRound) {
    await bed.fill(prefix, aRound, keys);
    await publisher.until(sent);
  }
  await relay.stop();
  await release?.();
  const times = full(claims);
  const last = times.slice(-compared);
  return { first: median(times.slice(0, compared)), last: median(last), slowest: quantile(last, 0.95) };
}

async function benchHeld(bed: ClaimBed, rounds: number, keys: number | undefined): Promise<void> {
  const ways = { free: [] as Growth[], held: [] as Growth[] };
  for (let round = 0; round < rounds; round += 1) {
    for (const held of round % 2 === 0 ? [false, true] : [true, false])
      ways[held ? "held" : "free"].push(await growth(bed, keys, held));
  }
  const told = (growths: readonly Growth[]): string =>
    `${median(growths.map(({ last, first }) => last / first)).toFixed(2)} x (${ms(median(growths.map(({ first }) => first)))}, ` +
    `then ${ms(median(growths.map(({ last }) => last)))}, 95 of 100 within ${ms(median(growths.map(({ slowest }) => slowest)))})`;
  const against = ways.held.map(({ last }, round) => last / (ways.free[round]?.last ?? Number.NaN));
  console.log(
    `${bed.name}, ${keys === undefined ? "a key each" : `${keys} keys`}, last ${compared} claims of ${heldMessages} events against ` +
      `the first: snapshot held ${told(ways.held)}, bar 2; without ${told(ways.free)}; held against without ` +
      `${median(against).toFixed(2)} x, median of ${rounds} pairs`,
  );
}

export async function benchClaims(postgres: string, mariadb: string, rounds: number): Promise<void> {
  for (const open of [() => openPostgresBed(postgres), () => openMariadbBed(mariadb)]) {
    const bed = await open();
    try {
      for (const analyzed of [false, true]) await benchWaiting(bed, rounds, analyzed);
      for (const keys of [few, undefined]) await benchHeld(bed, rounds, keys);
    } finally {
      await bed.close();
    }
  }
}
