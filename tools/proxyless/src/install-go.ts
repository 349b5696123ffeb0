// Builds the client and server in Go: `npm run install-go -w tools/proxyless`.
import { buildGo } from "./build-go.js";

console.log(await buildGo());
