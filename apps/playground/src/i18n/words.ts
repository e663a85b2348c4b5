import { dictionary, type Shape } from "../../../console/src/i18n/dictionary.ts";
import { setting } from "../../../console/src/settings.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";

export type Words = Shape<typeof en>;

export const words = dictionary<"en" | "ja", Words>({ en, ja }, () => setting("lang"));
