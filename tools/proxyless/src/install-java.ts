// Builds the client and server in Java: `npm run install-java -w tools/proxyless`.
import { buildJava } from "./build-java.js";

console.log(await buildJava());
