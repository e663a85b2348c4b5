/** Whether this machine has a font for Japanese: without one every character is the same empty box. */
import type { Page } from "playwright-core";

const WITHOUT =
  "this machine has no font for Japanese: its pictures would be rows of empty boxes. On Debian: apt-get install fonts-noto-cjk";

/** Two characters that a font of theirs draws differently. */
const japanese = ["支", "払"] as const;

export async function drawsApart(page: Page, [one, other]: readonly [string, string] = japanese): Promise<boolean> {
  const drawn = (character: string): Promise<string> =>
    page.evaluate<string>(
      `(() => {
        const canvas = document.createElement("canvas");
        const pen = canvas.getContext("2d");
        pen.font = "40px sans-serif";
        pen.fillText(${JSON.stringify(character)}, 20, 60);
        return canvas.toDataURL();
      })()`,
    );
  return (await drawn(one)) !== (await drawn(other));
}

/** Rather no picture than one that nobody can read, in the place of one that everybody could. */
export async function refuseWithoutJapanese(page: Page): Promise<void> {
  if (!(await drawsApart(page))) throw new Error(WITHOUT);
}
