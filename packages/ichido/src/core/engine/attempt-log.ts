/**
 * The attempt log: notes of who asked and what they got gather here and are written in batches, beside the requests. A
 * request never waits for the log, and never fails by it.
 */
import type { Environment, Timer } from "../contract/environment.ts";
import { isIchidoError } from "../contract/errors.ts";
import type { IchidoListener, RequestOutcome } from "../contract/events.ts";
import type { LogResult } from "../contract/history.ts";
import type { OwnerToken } from "../contract/record.ts";
import { ownersOf } from "../record-machine/history.ts";
import { keyHashOf } from "../request/scope.ts";
import { GatheredAttempts } from "./gathered-attempts.ts";
import type { Ask, Grant } from "./ruling.ts";
import type { StoreCalls } from "./store-calls.ts";

export interface AttemptLogSettings {
  readonly processName: string | undefined;
  readonly release: string | undefined;
  readonly flushMs: number;
  readonly queueMax: number;
  readonly suspectWithinMs: number;
}

type Asked = Pick<Ask<never>, "identity" | "startedMs" | "askedBy"> & {
  readonly route: Pick<Ask<never>["route"], "enforce" | "retentionMs">;
};

/** The handler ran. */
export interface Ran {
  readonly grant: Pick<Grant, "origin" | "attempt" | "fence" | "canonical">;
  readonly owner: OwnerToken;
  /** Its answer is the record's now. */
  readonly isKept: boolean;
}

export interface AttemptLog {
  add(ask: Asked, outcome: RequestOutcome, status: number | undefined, ran?: Ran): void;
  /** Writes what has gathered. Never rejects: what the store did not take waits for the next time. */
  flush(): Promise<void>;
  /** Writes the last ones, once. */
  stop(): Promise<void>;
}

const nameDigitBytes = 3;
/** Numbers of notes are kept in 32 bits. */
const numberMax = 0xffff_ffff;

export function createAttemptLog(parts: {
  readonly calls: Pick<StoreCalls, "log">;
  readonly environment: Environment;
  readonly emit: IchidoListener;
  readonly settings: AttemptLogSettings;
}): AttemptLog {
  const { calls, environment, emit, settings } = parts;
  let gathering: GatheredAttempts | undefined;
  /** Is written, or was not taken. */
  let sent: GatheredAttempts | undefined;
  let dropped = 0;
  let count = 0;
  let owners: string | undefined;
  let process = settings.processName;
  let timer: Timer | undefined;
  let flushing: Promise<void> | undefined;
  let isOver = false;

  /** Made with the first batch: an engine may be made where nothing random can be had yet. */
  function name(): string {
    process ??= `${environment.processName?.() ?? "process"}:${hex(environment.randomBytes(nameDigitBytes))}`;
    return process;
  }

  const queued = (): number => (gathering?.size ?? 0) + (sent?.size ?? 0);

  function arm(): void {
    if (isOver) return;
    timer ??= environment.after(settings.flushMs, () => {
      timer = undefined;
      void flush();
    });
  }

  function told({ pairs, more }: LogResult): void {
    for (const [at, { first, second, apartMs }] of pairs.entries()) {
      const { operation } = second;
      const hashes = { keyHash: keyHashOf(second), firstKeyHash: keyHashOf(first) };
      const isLast = at === pairs.length - 1;
      const rest = isLast && more > 0 ? { more } : {};
      emit({ type: "suspected-duplicate", operation, ...hashes, apartMs, ...rest });
    }
  }

  /** `refused`: what no waiting mends, and what would keep all others waiting. */
  async function write(gathered: GatheredAttempts): Promise<"written" | "waits" | "refused"> {
    const { release, suspectWithinMs } = settings;
    const who = {
      process: name(),
      ...(release !== undefined && { release }),
      ...(owners !== undefined && { owners }),
    };
    try {
      told(await calls.log({ ...who, ...gathered.batch(environment.monotonicMs()), suspectWithinMs }));
      return "written";
    } catch (error) {
      // The failing call itself was reported.
      return isIchidoError(error) && error.code === "value-not-serialisable" ? "refused" : "waits";
    }
  }

  async function writeAll(): Promise<void> {
    // What comes meanwhile is left to the next time: a store that is slower than the requests must not be asked for ever.
    for (let turns = sent === undefined ? 1 : 2; turns > 0; turns -= 1) {
      if (sent === undefined) [sent, gathering] = [gathering, undefined];
      if (sent === undefined) return;
      const batch = sent;
      const outcome = await write(batch);
      if (outcome !== "waits") sent = undefined;
      const lost = dropped + (outcome === "refused" ? batch.attempts : 0);
      dropped = 0;
      const written = outcome === "written" ? batch.attempts : 0;
      emit({ type: "attempts-logged", written, dropped: lost, queued: queued() });
      if (outcome === "waits") return;
    }
  }

  function flush(): Promise<void> {
    flushing ??= writeAll().finally(() => {
      flushing = undefined;
      if (queued() > 0) arm();
    });
    return flushing;
  }

  function add({ identity, startedMs, askedBy, route }: Asked, outcome: RequestOutcome, status?: number, ran?: Ran) {
    if (queued() >= settings.queueMax) {
      dropped += 1;
      return;
    }
    const nowMs = environment.monotonicMs();
    count = count === numberMax ? 1 : count + 1;
    const isFirst = ran?.grant.origin === "new";
    const note = {
      identity,
      number: count,
      outcome,
      observed: !route.enforce,
      askedMs: startedMs,
      tookMs: nowMs - startedMs,
      status,
      attempt: ran?.grant.attempt,
      fence: ran?.grant.fence,
      askedBy,
      canonical: isFirst ? ran.grant.canonical : undefined,
      keepMs: route.retentionMs,
    };
    if (ran !== undefined) owners ??= ownersOf(ran.owner);
    gathering ??= new GatheredAttempts(nowMs);
    if (isFirst && ran.isKept) gathering.addKept(note);
    else if (!gathering.add(note)) dropped += 1;
    if (gathering.isFull && flushing === undefined) void flush();
    else arm();
  }

  return {
    add,
    flush,
    async stop() {
      isOver = true;
      timer?.cancel();
      await flushing;
      // The one that was not taken before, and what has gathered since.
      if (queued() > 0) await flush();
      const left = (sent?.attempts ?? 0) + (gathering?.attempts ?? 0);
      if (left > 0) emit({ type: "attempts-logged", written: 0, dropped: left, queued: 0 });
      [sent, gathering] = [undefined, undefined];
    },
  };
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
