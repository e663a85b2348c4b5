import { render } from "preact";
import { App } from "./app.tsx";
import { listenToKeys } from "./keyboard.ts";
import "./style/tokens.css";
import "./style/base.css";
import "./style/layout.css";
import "./style/parts.css";
import "./style/table.css";
import "./style/timeline.css";
import "./style/screens.css";

listenToKeys();
const place = document.querySelector("#app");
if (place !== null) render(<App />, place);
