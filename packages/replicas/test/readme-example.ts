import { equal, match } from "node:assert/strict";
import {
  controlPlane,
  decodeAnswers,
  decodeProxies,
  formatSilent,
  joinConnections,
  type Replica,
  ReplicaError,
} from "@istiod/replicas";

const instance = (name: string) => ({ id: name, name, version: "0.1.0", revision: "default", startedAt: Date.now() });
const web = (connectedAt: number) => ({
  id: `web-${connectedAt}`,
  node: "sidecar~10.0.0.1~web.shop~shop.svc.cluster.local",
  cluster: "Kubernetes",
  name: "web.shop",
  kind: "sidecar",
  version: "1.30.0",
  connectedAt,
});
// Two other replicas: the proxy has connected to one of them since, and the other one has ended.
const peers: readonly Replica[] = [
  { name: "b", ask: async () => ({ instance: instance("b"), answer: { proxies: [web(2)] } }) },
  { name: "c", ask: () => Promise.reject(new ReplicaError("unreachable", "connect ECONNREFUSED 10.0.0.3:15012")) },
];
const ask = controlPlane({
  instance: instance("a"),
  answer: async () => ({ instance: instance("a"), answer: { proxies: [web(1)] } }),
  peers: async () => peers,
});

const gathered = decodeAnswers(await ask("proxies"), decodeProxies);
const { latest } = joinConnections(gathered, (proxies) => proxies);
equal(latest.map(({ replica, proxy }) => `${proxy.name} on ${replica}`).join(), "web.shop on b");
match(formatSilent(gathered.silent), /^c does not answer: connect ECONNREFUSED/);
