/** Whether an event tells of one of these values: for erasing what is known of a person. */
import { hasWord } from "../core/record-machine/reasons.ts";

interface Told {
  readonly key?: string | undefined;
  /** Everything but the payload, as JSON. */
  readonly envelope: string;
  readonly payload: Uint8Array;
  readonly error?: string | undefined;
}

/** Shorter ones count only where they stand alone: `42` is a part of too much. */
const partLengthMin = 6;

function isPart(text: string, value: string): boolean {
  return text === value || (value.length >= partLengthMin && hasWord(text, value));
}

function tells(found: unknown, value: string): boolean {
  if (typeof found === "string") return isPart(found, value);
  if (typeof found === "number") return String(found) === value;
  if (typeof found !== "object" || found === null) return false;
  return Object.entries(found).some(([name, each]) => name === value || tells(each, value));
}

/** A value as it is, where it is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function mentions({ key, envelope, payload, error }: Told, values: readonly string[]): boolean {
  const told = [key, parsed(envelope), parsed(new TextDecoder().decode(payload)), error];
  return values.some((value) => value !== "" && told.some((each) => tells(each, value)));
}
