/** JetStream's own protocol: JSON over requests, the same in every server and client since 2.2. */
import { given } from "../core/contract/read-options.ts";
import type { NatsConnection } from "./nats-connection.ts";
import { asError } from "./hand-out.ts";

export const apiPrefix = given("$JS.API");
const nanosPerMs = 1_000_000;
const decoder = new TextDecoder();

export const nanos = (ms: number): number => ms * nanosPerMs;
export const millis = (ns: number): number => ns / nanosPerMs;

export interface ApiFault {
  /** As in HTTP: 4xx is about what was asked, 5xx about the server. */
  readonly code: number;
  readonly err_code?: number;
  readonly description?: string;
}

export const faults = { consumerNotFound: 10014, streamNotFound: 10059, streamNameInUse: 10058 } as const;

export class JetStreamFault extends Error {
  override readonly name: string = "JetStreamFault";
  readonly fault: ApiFault;

  constructor(fault: ApiFault) {
    super(`JetStream answered ${fault.code} (${fault.err_code ?? 0}): ${fault.description ?? "no description"}`);
    this.fault = fault;
  }
}

/** The server says that the subject has no listener: no stream on it, or JetStream is not there (yet). */
export function isNoResponders(error: unknown): boolean {
  const { name, code, cause } = asError(error) as Error & { readonly code?: unknown };
  return name === "NoRespondersError" || code === "503" || (cause instanceof Error && isNoResponders(cause));
}

export function readAnswer<Answer>(data: Uint8Array): Answer {
  const answer = JSON.parse(decoder.decode(data)) as Answer & { readonly error?: ApiFault };
  if (answer.error !== undefined) throw new JetStreamFault(answer.error);
  return answer;
}

export async function ask<Answer>(
  connection: NatsConnection,
  subject: string,
  body: unknown,
  timeoutMs: number,
): Promise<Answer> {
  const payload = body === undefined ? "" : JSON.stringify(body);
  const answer = await connection.request(subject, payload, { timeout: timeoutMs });
  return readAnswer<Answer>(answer.data);
}

export interface StreamConfig {
  readonly name: string;
  readonly subjects?: readonly string[];
  readonly retention: string;
  readonly storage: string;
  readonly discard: string;
  readonly max_age: number;
  readonly max_msgs: number;
  readonly max_bytes: number;
  readonly max_msgs_per_subject: number;
  readonly duplicate_window: number;
  readonly num_replicas: number;
  readonly no_ack?: boolean;
  readonly sealed?: boolean;
}

export interface ConsumerConfig {
  readonly durable_name: string;
  readonly ack_policy: string;
  readonly deliver_policy: string;
  readonly ack_wait: number;
  readonly max_ack_pending: number;
  readonly max_deliver: number;
  readonly filter_subject?: string;
  readonly deliver_subject?: string;
}

export async function streamInfo(
  connection: NatsConnection,
  apiPrefix: string,
  stream: string,
  timeoutMs: number,
): Promise<StreamConfig | undefined> {
  return absentAs(faults.streamNotFound, async () => {
    const subject = `${apiPrefix}.STREAM.INFO.${stream}`;
    return (await ask<{ readonly config: StreamConfig }>(connection, subject, undefined, timeoutMs)).config;
  });
}

export async function consumerInfo(
  connection: NatsConnection,
  apiPrefix: string,
  stream: string,
  consumer: string,
  timeoutMs: number,
): Promise<ConsumerConfig | undefined> {
  return absentAs(faults.consumerNotFound, async () => {
    const subject = `${apiPrefix}.CONSUMER.INFO.${stream}.${consumer}`;
    return (await ask<{ readonly config: ConsumerConfig }>(connection, subject, undefined, timeoutMs)).config;
  });
}

async function absentAs<T>(code: number, run: () => Promise<T>): Promise<T | undefined> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof JetStreamFault && error.fault.err_code === code) return undefined;
    throw error;
  }
}
