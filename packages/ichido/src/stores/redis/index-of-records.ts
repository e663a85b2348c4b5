/**
 * Which records have a label, or made a resource: a sorted set for each, a key of its own and so perhaps on another server
 * than its records. It is written beside the record, never with it: a hit counts only if the record itself says the same. What
 * could not be written is written later (`unindexed.ts`), and a sweep writes again what a record in doubt has outlived.
 */
import type { Resource } from "../../core/contract/history.ts";
import type { ListPage, ListQuery } from "../../core/contract/store.ts";
import { matches, recordView } from "../../core/record-machine/view.ts";
import type { Key } from "../../core/contract/record.ts";
import { listOf, textOf } from "../../drivers/redis/reply.ts";
import type { Link } from "../../drivers/redis/link.ts";
import { checkLimit, decodeCursor, pageOf, type Position } from "../encoding.ts";
import type { Names } from "./names.ts";
import { encodeResource, fields, rowOf, type Row } from "./row.ts";
import type { Scripts } from "./scripts.ts";

/** Hexadecimal digits sort as bytes do, and the sign between sorts before them: a key comes before those that begin with it. */
const memberOf = ({ key, scopeHash }: Position): string =>
  `${Buffer.from(key, "utf8").toString("hex")}!${Buffer.from(scopeHash).toString("hex")}`;

function positionOf(member: string): Position & { readonly key: Key } {
  const [key = "", scopeHash = ""] = member.split("!");
  return {
    key: Buffer.from(key, "hex").toString("utf8") as Key,
    scopeHash: new Uint8Array(Buffer.from(scopeHash, "hex")),
  };
}

const labelTerm = (name: string, value: string): string => JSON.stringify(["label", name, value]);
const resourceTerm = (resource: Resource): string => JSON.stringify(["resource", resource.kind, resource.id]);

export interface Indexed {
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly resources?: readonly Resource[] | undefined;
}

const termsOf = ({ labels = {}, resources = [] }: Indexed): readonly string[] => [
  ...Object.entries(labels).map(([name, value]) => labelTerm(name, value)),
  ...resources.map(resourceTerm),
];

const pageMembers = 200;

export interface RecordIndex {
  add(position: Position, indexed: Indexed, forMs: number): Promise<void>;
  remove(position: Position, indexed: Indexed): Promise<void>;
  /** The names of its keys, which tell nothing of what they stand for. */
  namesOf(indexed: Indexed): readonly string[];
  removeFrom(position: Position, indexes: readonly string[]): Promise<void>;
  list(query: ListQuery): Promise<ListPage>;
}

export function createIndex(link: Link, scripts: Scripts, names: Names): RecordIndex {
  const send = (name: string, args: readonly string[]): Promise<unknown> =>
    scripts.repeat("index", true, {}, () => link.sendTo(name, args));

  async function rowsOf(members: readonly string[], query: ListQuery): Promise<readonly { row: Row; nowUs: number }[]> {
    const found = await Promise.all(
      members.map(async (member) => {
        const name = names.record(positionOf(member));
        const [now, values] = listOf(await scripts.run("find", name, [...fields]));
        const row = rowOf(listOf(values));
        const { resource } = query;
        const isMade =
          resource === undefined || (await send(name, ["hexists", name, `M${encodeResource(resource)}`])) === 1;
        const nowUs = Number(textOf(now));
        const { resource: _, ...asked } = query;
        const isWanted = row !== undefined && isMade && matches(row.identity, row, row, asked, nowUs);
        return isWanted ? [{ row, nowUs }] : [];
      }),
    );
    return found.flat();
  }

  const namesOf = (indexed: Indexed): readonly string[] => termsOf(indexed).map((term) => names.index(term));

  async function removeFrom(position: Position, indexes: readonly string[]): Promise<void> {
    await Promise.all(indexes.map((name) => send(name, ["zrem", name, memberOf(position)])));
  }

  return {
    async add(position, indexed, forMs) {
      const args = [memberOf(position), String(Math.ceil(forMs))];
      await Promise.all(termsOf(indexed).map((term) => scripts.run("index", names.index(term), args)));
    },
    remove: (position, indexed) => removeFrom(position, namesOf(indexed)),
    namesOf,
    removeFrom,
    async list(query) {
      checkLimit(query.limit);
      const { label, resource } = query;
      const term = resource === undefined ? label && labelTerm(label.name, label.value) : resourceTerm(resource);
      const name = names.index(term ?? "");
      let from = query.cursor === undefined ? "-" : `(${memberOf(decodeCursor(query.cursor))}`;
      const found: { readonly row: Row; readonly nowUs: number }[] = [];
      for (;;) {
        const asked = ["zrangebylex", name, from, "+", "limit", "0", String(pageMembers)];
        const members = listOf(await send(name, asked)).map(textOf);
        found.push(...(await rowsOf(members, query)));
        const last = members.at(-1);
        if (last === undefined || members.length < pageMembers || found.length > query.limit) break;
        from = `(${last}`;
      }
      return pageOf(found, query.limit, ({ row, nowUs }) => recordView(row, row, nowUs));
    },
  };
}
