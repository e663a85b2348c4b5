/** Filters as chips: what is chosen stands in the address, and each can be taken away. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { words } from "../i18n/words.ts";

export interface Chip {
  readonly name: string;
  readonly label: string;
  readonly value: string;
}

interface ChipsProps {
  readonly chips: readonly Chip[];
  /** What can be added, by name. */
  readonly names: Readonly<Record<string, { readonly label: string; readonly example: string }>>;
  readonly add: (name: string, value: string) => void;
  readonly remove: (name: string) => void;
}

export function Chips({ chips, names, add, remove }: ChipsProps): JSX.Element {
  const [name, setName] = useState(Object.keys(names)[0] ?? "");
  const [value, setValue] = useState("");
  return (
    <div class="chips">
      {chips.map((chip) => (
        <span class="chip" key={chip.name}>
          <span title={chip.value}>
            <b>{chip.label}</b> {chip.value}
          </span>
          <button type="button" aria-label={words().removeFilter(chip.label)} onClick={() => remove(chip.name)}>
            ×
          </button>
        </span>
      ))}
      <form
        class="row"
        onSubmit={(event) => {
          event.preventDefault();
          if (value.trim() === "") return;
          add(name, value.trim());
          setValue("");
        }}
      >
        <select
          class="input filter-name"
          aria-label={words().filterBy}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        >
          {Object.entries(names).map(([each, { label }]) => (
            <option key={each} value={each}>
              {label}
            </option>
          ))}
        </select>
        <input
          class="input filter-value"
          aria-label={words().filterValue}
          placeholder={names[name]?.example}
          value={value}
          autocomplete="off"
          onInput={(event) => setValue(event.currentTarget.value)}
        />
        <button type="submit" class="button">
          {words().addFilter}
        </button>
      </form>
    </div>
  );
}

interface PillsProps<Value extends string> {
  readonly label: string;
  readonly options: readonly (readonly [value: Value, name: string])[];
  readonly chosen: Value;
  readonly choose: (value: Value) => void;
}

/** One of a few. */
export function Pills<Value extends string>({ label, options, chosen, choose }: PillsProps<Value>): JSX.Element {
  return (
    <div class="pills" role="group" aria-label={label}>
      {options.map(([value, name]) => (
        <button type="button" key={value} aria-pressed={value === chosen} onClick={() => choose(value)}>
          {name}
        </button>
      ))}
    </div>
  );
}
