import { render } from "preact";
import "../../console/src/style/tokens.css";
import "../../console/src/style/base.css";
import "../../console/src/style/layout.css";
import "../../console/src/style/parts.css";
import "../../console/src/style/table.css";
import "../../console/src/style/timeline.css";
import "../../console/src/style/screens.css";
import "./style/playground.css";
import { App } from "./app.tsx";

const place = document.querySelector("#app");
if (place !== null) render(<App />, place);
