/** What the page's settings look at when they are loaded: an address, and the root of a document. */
import { vi } from "vitest";

vi.stubGlobal("location", { hash: "", search: "" });
vi.stubGlobal("document", { documentElement: { dataset: {}, lang: "" } });
