import { setting } from "../settings.ts";
import { dictionary, type Shape } from "./dictionary.ts";
import { en } from "./en.ts";
import { ja } from "./ja.ts";

export type Words = Shape<typeof en>;

export const words = dictionary<"en" | "ja", Words>({ en, ja }, () => setting("lang"));
