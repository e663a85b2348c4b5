import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { describeInChromium } from "../../../test/client/chromium.ts";
import { drawsApart, refuseWithoutJapanese } from "../pictures/japanese-font.ts";

/** Fonts as this machine has them, but for those that know Japanese. */
const fonts = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <selectfont><rejectfont><pattern><patelt name="lang"><string>ja</string></patelt></pattern></rejectfont></selectfont>
</fontconfig>
`;

describeInChromium("pictures of the playground", (launch) => {
  const folder = mkdtempSync(join(tmpdir(), "ichido-fonts-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("are refused on a machine without Japanese fonts, and nothing is written over", async () => {
    const file = join(folder, "fonts.conf");
    writeFileSync(file, fonts);
    const browser = await launch({ FONTCONFIG_FILE: file });
    try {
      const page = await browser.newPage();
      await expect(refuseWithoutJapanese(page)).rejects.toThrow("fonts-noto-cjk");
      expect(await drawsApart(page, ["A", "B"])).toBe(true);
    } finally {
      await browser.close();
    }
  });
});
