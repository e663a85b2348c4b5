/** All records, by filters that stand in the address. Pages go by cursor: the store reads what is shown, however many there are. */
import type { JSX } from "preact";
import type { KeysAnswer } from "../contract.ts";
import { api } from "../api.ts";
import { count } from "../amount.ts";
import { words } from "../i18n/words.ts";
import { useLoad } from "../load.ts";
import { Chips, Pills } from "../parts/chips.tsx";
import { Empty, Shown } from "../parts/note.tsx";
import { recordColumns } from "../parts/record-cells.tsx";
import { Pager, Table } from "../parts/table.tsx";
import { chosenOn, go, hashOf, type Place, type Query } from "../router.ts";
import { useSharedHash } from "../share.ts";
import { duration } from "../time.ts";

const states = ["", "unknown", "processing", "failed", "completed"] as const;
const ageNames = ["newerThanMs", "olderThanMs"] as const;
const ages = ["", "900000", "3600000", "21600000", "86400000", "604800000"] as const;

/** Everything that stands in the address: what is no filter is refused by the server, and must not find everything. */
type Filters = Place["query"];

/** Have a place of their own beside the chips. */
const ownPlace: readonly string[] = ["state", "cursor", "limit", ...ageNames];

function Filter({ filters }: { readonly filters: Filters }): JSX.Element {
  const { filterNames, state: stateNames, allStates } = words();
  // Another filter begins at its own first page.
  const choose = (more: Query): void => go(["keys"], { ...chosenOn("keys"), cursor: undefined, ...more });
  const labels: Readonly<Record<string, { readonly label: string }>> = filterNames;
  const chips = Object.entries(filters)
    .filter(([name]) => !ownPlace.includes(name))
    .map(([name, value]) => ({ name, label: labels[name]?.label ?? name, value }));
  return (
    <div class="stack">
      <div class="row">
        <Pills<string>
          label={words().columns.state}
          options={states.map((state) => [state, state === "" ? allStates : stateNames[state]] as const)}
          chosen={filters["state"] ?? ""}
          choose={(state) => choose({ state })}
        />
        {ageNames.map((name) => (
          <label class="row small" key={name}>
            <span class="muted">{words().age[name]}</span>
            <select
              class="input age"
              value={filters[name] ?? ""}
              onChange={(event) => choose({ [name]: event.currentTarget.value })}
            >
              {[...new Set([...ages, filters[name] ?? ""])].map((ms) => (
                <option key={ms} value={ms}>
                  {ms === "" ? words().age.any : duration(Number(ms))}
                </option>
              ))}
            </select>
          </label>
        ))}
      </div>
      <Chips
        chips={chips}
        names={filterNames}
        add={(name, value) => choose({ [name]: value })}
        remove={(name) => choose({ [name]: undefined })}
      />
    </div>
  );
}

const roundsMax = 20;
const pageRows = 50;

/**
 * No index knows ages, operations and callers: the server looks for a tenth of a second and says where it stopped. The
 * page goes on from there, question by question, until there is something to show.
 */
async function search(filters: Filters, signal: AbortSignal): Promise<KeysAnswer> {
  let answer = await api.keys(filters, signal);
  for (let round = 1; round < roundsMax && answer.isCut && answer.records.length < pageRows; round += 1) {
    const more = await api.keys({ ...filters, ...(answer.cursor && { cursor: answer.cursor }) }, signal);
    answer = {
      ...more,
      records: [...answer.records, ...more.records],
      searched: answer.searched + more.searched,
    };
  }
  return answer;
}

export function Keys({ place }: { readonly place: Place }): JSX.Element {
  const filters = place.query;
  const loaded = useLoad(`keys ${JSON.stringify(filters)}`, (signal) => search(filters, signal));
  const { cursor, ...without } = filters;
  const [record] = loaded.value?.records ?? [];
  // A link that is handed on holds no key that somebody typed.
  useSharedHash(filters["key"] === undefined || record === undefined ? undefined : hashOf(["keys", record.handle]));
  return (
    <div class="stack">
      <div class="head">
        <h1>{words().screens.keys}</h1>
        <button type="button" class="button bare end" onClick={loaded.again}>
          {words().refresh}
        </button>
      </div>
      <Filter filters={filters} />
      <section class="card">
        <Shown loaded={loaded}>
          {({ records, cursor: next, searched, isCut }) => (
            <>
              {records.length === 0 ? (
                <Empty title={isCut ? words().nothingYet(count(searched)) : words().noKeys}>
                  <p>{words().noKeysAdvice}</p>
                </Empty>
              ) : (
                <Table
                  caption={words().screens.keys}
                  columns={recordColumns()}
                  rows={records}
                  keyOf={({ handle }) => handle}
                  open={({ handle }) => go(["keys", handle])}
                />
              )}
              <Pager
                shown={records.length}
                first={cursor === undefined ? undefined : hashOf(["keys"], without)}
                next={next === undefined ? undefined : hashOf(["keys"], { ...without, cursor: next })}
              >
                {isCut && <span>{words().searched(count(searched))}</span>}
              </Pager>
            </>
          )}
        </Shown>
      </section>
    </div>
  );
}
