/** Records as people see them: one, a page of them, their sizes. */
import type { ListPage, ListQuery, Step, Store } from "../../core/contract/store.ts";
import { integerOption } from "../../core/contract/option-checks.ts";
import { bufferOf } from "../../sql/statement.ts";
import { checkLimit, decodeCursor, encodeCursor, encodeLabels, pageOf } from "../encoding.ts";
import type { Connection, Row } from "./connection.ts";
import { refuseStandby } from "./ping.ts";
import { bytesOf, numberOf, recordOf, statsOf, stepOf, textOf } from "./row.ts";
import type { Run } from "./run.ts";
import { decodeText, encodeMembers, encodeOptional, encodeText } from "./text.ts";
import { identityValues } from "./values.ts";

/** Of a larger table, so many pages stand for all: 16 MB, a few hundredths of a second. */
const statsPagesMax = 2_048;

const lookMaxMax = 100_000;

/** `looking`: the way of what may take long, which ends on the server, too. */
export function createReadingVerbs(
  run: Run,
  looking: Pick<Connection, "run">,
): Pick<Store, "steps" | "find" | "list" | "stats"> {
  const look: Run = (verb, repeatable, values) => run(verb, repeatable, values, looking);
  return {
    async steps(identity): Promise<readonly Step[]> {
      const rows = await run("steps", "always", identityValues(identity));
      refuseStandby(rows);
      return rows.filter((row) => row[1] !== null).map(stepOf);
    },
    async find(identity) {
      const rows = await run("find", "always", identityValues(identity));
      refuseStandby(rows);
      const [row] = rows;
      return row === undefined || row[1] === null ? undefined : recordOf(row);
    },
    list: (query) => list(look, query),
    async stats() {
      // One try, with all of the time: it reads many pages.
      const [row = []]: readonly Row[] = await look("stats", "conflicts", [String(statsPagesMax)]);
      return statsOf(row);
    },
  };
}

async function list(run: Run, query: ListQuery): Promise<ListPage> {
  checkLimit(query.limit);
  const after = query.cursor === undefined ? undefined : decodeCursor(query.cursor);
  const label = query.label && encodeLabels(encodeMembers(Object.fromEntries([[query.label.name, query.label.value]])));
  const wanted = [
    encodeOptional(query.tenant),
    encodeOptional(query.principal),
    encodeOptional(query.operation),
    encodeOptional(query.key),
    query.state ?? null,
    after === undefined ? null : encodeText(after.key),
    after === undefined ? null : bufferOf(after.scopeHash),
    String(query.limit + 1),
  ];
  if (isSearched(query)) return searched(run, wanted, query.limit, query.lookMax);
  return pageOf(await found(run, query, wanted, label ?? null), query.limit, recordOf);
}

/** Everything else is found by an index, or matches every record. */
function isSearched(query: ListQuery): query is ListQuery & { readonly lookMax: number } {
  const { lookMax, tenant, principal, operation, state, key, label, resource } = query;
  if (lookMax === undefined) return false;
  integerOption("lookMax", lookMax, 1, lookMaxMax);
  const isIndexed = [key, label, resource].some((each) => each !== undefined) || isOpen(query);
  return !isIndexed && [tenant, principal, operation, state].some((each) => each !== undefined);
}

async function searched(run: Run, wanted: readonly unknown[], limit: number, lookMax: number): Promise<ListPage> {
  const rows = await run("listWithin", "conflicts", [...wanted, String(lookMax)]);
  const [count, key, scopeHash] = rows[0]?.slice(-3) ?? [];
  if (rows.length === 0) return { records: [], looked: 0 };
  const page = pageOf(
    rows.filter((row) => row[1] !== null),
    limit,
    recordOf,
  );
  const looked = numberOf(count);
  if (page.cursor !== undefined || looked < lookMax) return { ...page, looked };
  return { ...page, looked, cursor: encodeCursor({ key: decodeText(textOf(key)), scopeHash: bytesOf(scopeHash) }) };
}

function isOpen({ state, key, label }: ListQuery): boolean {
  return state !== undefined && state !== "completed" && key === undefined && label === undefined;
}

/** A filter that few records match reads many: one try, with all of the time. */
function found(run: Run, query: ListQuery, wanted: readonly unknown[], label: string | null): Promise<readonly Row[]> {
  const { resource } = query;
  if (resource !== undefined) {
    return run("listMade", "conflicts", [...wanted, encodeText(resource.kind), encodeText(resource.id), label]);
  }
  if (isOpen(query)) return run("listOpen", "conflicts", wanted);
  return label === null ? run("list", "conflicts", wanted) : run("listLabelled", "conflicts", [...wanted, label]);
}
