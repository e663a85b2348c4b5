/** Hydrates when the test says so: until then the page is what a slow line, or a browser without script, shows. */
import * as React from "react";
import { hydrateRoot } from "react-dom/client";
import { OrderForm } from "./order-form.ts";

const root = document.querySelector("#root") as HTMLElement;
const props = JSON.parse(root.dataset["props"] ?? "{}") as React.ComponentProps<typeof OrderForm>;

Object.assign(globalThis, {
  hydrateNow: () =>
    hydrateRoot(root, React.createElement(React.StrictMode, null, React.createElement(OrderForm, props)), {
      onRecoverableError: (error) => console.error(error),
    }),
});
