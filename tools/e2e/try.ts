import { startMesh } from "./src/index.js";
for (let i = 0; i < 15; i++) {
  const t = Date.now();
  try {
    const m = await startMesh({ istiod: "process", workloads: [{ app: "client" }, { app: "a" }, { app: "b" }, { app: "c" }] });
    console.log(i, "ok", Date.now() - t);
    await m.close();
  } catch (e) {
    console.log(i, "FAIL", String(e));
    break;
  }
}
process.exit(0);
