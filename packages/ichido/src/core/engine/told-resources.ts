/** What the handler of one attempt told that its operation makes, and how much of it the record has. */
import { limits } from "../contract/defaults.ts";
import { IchidoError } from "../contract/errors.ts";
import type { Resource } from "../contract/history.ts";
import { hasLoneSurrogate } from "../request/sha256.ts";

function checkText(name: string, value: string, lengthMax: number): void {
  const isSound = value !== "" && value.length <= lengthMax && !value.includes("\0") && !hasLoneSurrogate(value);
  if (isSound) return;
  throw new IchidoError("usage-invalid", `ctx.resource: its ${name} must be a text of 1 to ${lengthMax} characters`);
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "bigint" || Number.isSafeInteger(value) ? String(value) : "";
}

export class ToldResources {
  readonly #told: Resource[] = [];
  #kept = 0;

  get all(): readonly Resource[] {
    return this.#told;
  }

  add(kind: string, id: string | number | bigint): void {
    const resource = { kind: textOf(kind), id: textOf(id) };
    checkText("kind", resource.kind, limits.resourceKindLengthMax);
    checkText("id", resource.id, limits.resourceIdLengthMax);
    if (this.#told.some((each) => each.kind === resource.kind && each.id === resource.id)) return;
    if (this.#told.length >= limits.resourcesMax) {
      throw new IchidoError("usage-invalid", `ctx.resource: an operation may tell of ${limits.resourcesMax} resources`);
    }
    this.#told.push(resource);
  }

  /** For the next write of the attempt. */
  get news(): { readonly resources?: readonly Resource[] } {
    return this.#kept === this.#told.length ? {} : { resources: this.#told.slice(this.#kept) };
  }

  /** The write that had the news took effect. Writes side by side have the same news, and end in any order. */
  kept({ resources = [] }: { readonly resources?: readonly Resource[] }): void {
    const last = resources.at(-1);
    if (last !== undefined) this.#kept = Math.max(this.#kept, this.#told.indexOf(last) + 1);
  }
}

/** Of an attempt whose handler never told anything: most. */
export const noNews: { readonly resources?: readonly Resource[] } = Object.freeze({});
