/** A number between two ends, with its value beside its name. The arrow keys move it, as the browser has it. */
import type { JSX } from "preact";

interface SliderProps {
  readonly name: string;
  readonly label: string;
  readonly value: number;
  readonly min?: number;
  readonly max: number;
  /** As it is shown, and as it is read out. */
  readonly shown: string;
  readonly isDisabled?: boolean;
  /** Tells what the value becomes: it may be less than was asked for. */
  readonly change: (value: number) => number;
}

export function Slider({ name, label, value, min = 0, max, shown, isDisabled, change }: SliderProps): JSX.Element {
  return (
    <label class="field slider">
      <span>
        {label} <output>{shown}</output>
      </span>
      <input
        type="range"
        name={name}
        min={min}
        max={max}
        value={value}
        aria-valuetext={shown}
        disabled={isDisabled}
        onInput={({ currentTarget }) => {
          currentTarget.value = String(change(currentTarget.valueAsNumber));
        }}
      />
    </label>
  );
}
