/** What a storm is made of: how many, how many at once, from which seed, and which part of them is struck. */
import type { JSX } from "preact";
import { count } from "../../../console/src/amount.ts";
import { bankModes, type BankMode } from "../../../shop/src/playground/contract.ts";
import {
  CONCURRENCY_MAX,
  KILL_PERCENT_MAX,
  mixNames,
  paymentsOffered,
  SEED_MAX,
  type FaultMix,
  type StormOrder,
} from "../../../shop/src/playground/storm-plan.ts";
import { words } from "../i18n/words.ts";
import { Slider } from "./slider.tsx";

interface StormFormProps {
  readonly order: StormOrder;
  readonly set: (order: StormOrder) => void;
  /** Why connections of the database cannot be ended here. */
  readonly noDrops: string | undefined;
}

function Payments({ order, set }: Pick<StormFormProps, "order" | "set">): JSX.Element {
  return (
    <fieldset class="choice wide">
      <legend>{words().storm.payments}</legend>
      {paymentsOffered.map((payments) => (
        <label key={payments}>
          <input
            type="radio"
            name="payments"
            value={payments}
            checked={order.payments === payments}
            onChange={() => set({ ...order, payments })}
          />
          {count(payments)}
        </label>
      ))}
    </fieldset>
  );
}

function Mix({ order, set, noDrops }: StormFormProps): JSX.Element {
  const { mix } = order;
  const setOne = (name: keyof FaultMix, asked: number): number => {
    // More than all of them cannot be struck: a slider goes as far as the others leave room.
    const others = mixNames.reduce((sum, each) => (each === name ? sum : sum + mix[each]), 0);
    const percent = Math.min(asked, 100 - others);
    set({ ...order, mix: { ...mix, [name]: percent } });
    return percent;
  };
  return (
    <fieldset class="mix">
      <legend>{words().storm.mix}</legend>
      {mixNames.map((name) => (
        <Slider
          key={name}
          name={name}
          label={words().storm[name]}
          value={mix[name]}
          max={name === "kill" ? KILL_PERCENT_MAX : 100}
          shown={`${mix[name]} %`}
          isDisabled={name === "databaseDrop" && noDrops !== undefined}
          change={(asked) => setOne(name, asked)}
        />
      ))}
    </fieldset>
  );
}

export function StormForm(props: StormFormProps): JSX.Element {
  const { order, set, noDrops } = props;
  const field = (name: "concurrency" | "seed", min: number, max: number): JSX.Element => (
    <label class="field">
      <span>{words().storm[name]}</span>
      <input
        class="input"
        type="number"
        name={name}
        min={min}
        max={max}
        value={order[name]}
        onInput={({ currentTarget }) => set({ ...order, [name]: currentTarget.valueAsNumber })}
      />
    </label>
  );
  return (
    <>
      <div class="fields">
        <Payments order={order} set={set} />
        {field("concurrency", 1, CONCURRENCY_MAX)}
        {field("seed", 0, SEED_MAX)}
        <label class="field wide">
          <span>{words().faults.bankMode}</span>
          <select
            class="input"
            name="bankMode"
            value={order.bankMode}
            onChange={({ currentTarget }) => set({ ...order, bankMode: currentTarget.value as BankMode })}
          >
            {bankModes.map((mode) => (
              <option key={mode} value={mode}>
                {words().faults.bankModes[mode]}
              </option>
            ))}
          </select>
        </label>
      </div>
      <Mix {...props} />
      {noDrops !== undefined && <p class="small muted">{`${words().storm.databaseDrop}: ${noDrops}`}</p>}
    </>
  );
}
