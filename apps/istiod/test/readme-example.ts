import { equal } from "node:assert/strict";
import { flagDefaults, startDiscovery } from "@istiod/istiod";
import { pino } from "pino";

const local = {
  grpcAddr: "127.0.0.1:0",
  httpAddr: "127.0.0.1:0",
  monitoringAddr: "",
  secureGRPCAddr: "",
  shutdownDuration: 0,
};
const flags = { ...flagDefaults({}), ...local, configDir: "samples/bookinfo" };
const istiod = await startDiscovery(flags, {}, pino({ level: "warn" }), "0.1.0");

// Both addresses have a port that was free: proxies connect to the first.
const { grpcAddr, httpAddr } = istiod.addresses;
equal(grpcAddr?.host, "127.0.0.1");
equal((await fetch(`http://127.0.0.1:${httpAddr?.port}/ready`)).status, 200);
await istiod.close();
