import { builtInImages } from "../agent/built-in-images.js";
import type { ContainerProcess } from "../agent/launch.js";
import { hostsOf, type Machine } from "./machine.js";
import type { WorkloadFiles } from "./workload-files.js";

/** User of the agent and Envoy, whose traffic is not redirected. */
const USER = 1337;

/** Does what Istio's package does on a virtual machine: its directories, and `istio-start.sh`. */
const START = `set -e
set -a; . /var/lib/istio/envoy/cluster.env; set +a
install -d -o ${USER} -g ${USER} /etc/istio/proxy /etc/certs /var/run/secrets /var/run/secrets/workload-spiffe-uds
pilot-agent istio-iptables
export INSTANCE_IP=$ISTIO_SVC_IP POD_NAME=$(uname -n) POD_NAMESPACE=$ISTIO_NAMESPACE
export PROV_CERT=./etc/certs OUTPUT_CERTS=./etc/certs CA_ADDR=istiod.istio-system.svc:15012
exec setpriv --reuid ${USER} --regid ${USER} --clear-groups -- pilot-agent proxy`;

/** Redirects the traffic of a machine to an Envoy, and starts it with its agent. */
export async function startSidecar(machine: Machine, files: WorkloadFiles): Promise<ContainerProcess> {
  const { proxyv2 } = await builtInImages();
  return await machine.start("istio", {
    command: ["sh", "-c", START],
    env: { ...proxyv2?.env },
    links: proxyv2?.files ?? {},
    files: {
      "/etc/istio/config/mesh": files.meshYaml,
      "/var/lib/istio/envoy/cluster.env": files.clusterEnv,
      "/etc/certs/root-cert.pem": files.rootCertificate,
      "/var/run/secrets/tokens/istio-token": files.token,
      "/etc/hosts": hostsOf(machine.name, machine.address) + files.hosts,
    },
  });
}
