/**
 * A JavaScript value → the canonical spelling that its JSON text would have, for bodies that only exist parsed and for
 * the input of `ichido.run`. Values that `JSON.stringify` would drop or change are refused, since two different inputs
 * would become one: functions, symbols, NaN, infinities, maps, sets, streams. Two kinds of value get a spelling that
 * JSON does not have: bytes (by their hash), and `undefined` in an array, which is not `null`. A `bigint` is a number,
 * exactly; a member that is `undefined` is absent; `toJSON` is honoured.
 */
import { nestingMax, type FieldTree } from "./canonical-json.ts";
import { canonicalNumber } from "./canonical-number.ts";
import { IchidoError } from "../contract/errors.ts";
import { sha256Hex } from "./sha256.ts";

/** Deeper than `nestingMax`, or a cycle. */
export class NestingError extends IchidoError {
  override readonly name: string = "NestingError";
}

/** With `fields`, only those members of an object count; any other value counts as a whole. */
export function canonicalValue(value: unknown, fields?: FieldTree): string {
  return new Writer().write(value, fields);
}

class Writer {
  readonly #path: (string | number)[] = [];

  write(given: unknown, fields: FieldTree | undefined): string {
    const value = this.#unwrap(given);
    switch (typeof value) {
      case "string":
        return JSON.stringify(value);
      case "number":
        return this.#number(value);
      case "bigint":
        return canonicalNumber(String(value)) as string;
      case "boolean":
        return value ? "true" : "false";
      case "undefined":
        return "undefined";
      case "object":
        return value === null ? "null" : this.#nested(value, fields);
      default:
        return this.#refuse(`a ${typeof value}`);
    }
  }

  #unwrap(given: unknown): unknown {
    if (typeof given !== "object" || given === null || given instanceof Uint8Array) return given;
    if (given instanceof Number || given instanceof String || given instanceof Boolean) return given.valueOf();
    const { toJSON } = given as { readonly toJSON?: unknown };
    return typeof toJSON === "function" ? (toJSON.call(given, String(this.#path.at(-1) ?? "")) as unknown) : given;
  }

  #number(value: number): string {
    if (!Number.isFinite(value)) return this.#refuse(String(value));
    // ECMAScript's own spelling is the canonical one, but for -0, which it also spells "0".
    return String(value);
  }

  #nested(value: object, fields: FieldTree | undefined): string {
    if (this.#path.length >= nestingMax) {
      throw new NestingError(
        "value-not-serialisable",
        `The value is nested deeper than ${nestingMax} levels, or in a cycle.`,
      );
    }
    if (Array.isArray(value)) return this.#array(value);
    if (value instanceof Uint8Array) return `bytes(${sha256Hex(value)})`;
    const tag = Object.prototype.toString.call(value);
    // Maps, sets, streams, form data and the like show no members: all of them would be spelt {}.
    if (tag !== "[object Object]") return this.#refuse(tag);
    return this.#object(value as Readonly<Record<string, unknown>>, fields);
  }

  #array(elements: readonly unknown[]): string {
    let text = "[";
    for (let index = 0; index < elements.length; index += 1) {
      this.#path.push(index);
      if (index > 0) text += ",";
      text += this.write(elements[index], undefined);
      this.#path.pop();
    }
    return `${text}]`;
  }

  #object(object: Readonly<Record<string, unknown>>, fields: FieldTree | undefined): string {
    let text = "{";
    for (const name of Object.keys(object).sort()) {
      const inside = fields === undefined ? true : fields.get(name);
      const member = object[name];
      if (inside === undefined || member === undefined) continue;
      this.#path.push(name);
      const spelling = this.write(member, inside === true ? undefined : inside);
      this.#path.pop();
      if (spelling === "undefined" || (inside !== true && spelling === "{}")) continue;
      if (text.length > 1) text += ",";
      text += `${JSON.stringify(name)}:${spelling}`;
    }
    return `${text}}`;
  }

  #refuse(what: string): never {
    const where = this.#path.length === 0 ? "The value" : `The value at ${this.#path.join(".")}`;
    throw new IchidoError(
      "value-not-serialisable",
      `${where} is ${what}, which cannot be compared with that of a later attempt. ` +
        "Pass strings, finite numbers, booleans, null, arrays, plain objects or a Uint8Array.",
    );
  }
}
