/** Records as people see them: one, a page of them, their sizes. */
import type { ListPage, ListQuery, Step, Store } from "../../core/contract/store.ts";
import { bufferOf } from "../../sql/statement.ts";
import { checkLimit, decodeCursor, encodeLabels, pageOf } from "../encoding.ts";
import type { Row } from "./connection.ts";
import { refuseStandby } from "./ping.ts";
import { recordOf, statsOf, stepOf } from "./row.ts";
import type { Run } from "./run.ts";
import { encodeMembers, encodeOptional, encodeText } from "./text.ts";
import { identityValues } from "./values.ts";

export function createReadingVerbs(run: Run): Pick<Store, "steps" | "find" | "list" | "stats"> {
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
    list: (query) => list(run, query),
    async stats() {
      // One try, with all of the time: it reads the whole table.
      const [row = []]: readonly Row[] = await run("stats", "conflicts", []);
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
  return pageOf(await found(run, query, wanted, label ?? null), query.limit, recordOf);
}

/** A filter that few records match reads many: one try, with all of the time. */
function found(
  run: Run,
  { resource }: ListQuery,
  wanted: readonly unknown[],
  label: string | null,
): Promise<readonly Row[]> {
  if (resource !== undefined) {
    return run("listMade", "conflicts", [...wanted, encodeText(resource.kind), encodeText(resource.id), label]);
  }
  return label === null ? run("list", "conflicts", wanted) : run("listLabelled", "conflicts", [...wanted, label]);
}
