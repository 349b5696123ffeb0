import type { WorkloadEntry } from "@istiod/istio-api/networking/v1alpha3/workload_entry";
import { checkPort, checkUnixSocket } from "./addresses.js";
import { isIpAddress } from "./ip.js";
import { checkLabels, checkPortName, fqdnFault } from "./names.js";
import type { Place } from "../place.js";
import { atMost, type Shape } from "../shape.js";

const unix = "unix://";

/** Returns the shape of a workload at a path; empty for the spec itself. */
export function workloadShape(path: string): Shape {
  const at = (field: string): string => (path === "" ? field : `${path}.${field}`);
  return {
    [at("address")]: atMost(256),
    [at("labels")]: atMost(256),
    [at("locality")]: atMost(2048),
    [at("network")]: atMost(2048),
    [at("ports")]: atMost(128),
    [at("serviceAccount")]: atMost(253),
  };
}

export interface WorkloadRules {
  /** Allows a domain name as address. */
  readonly namesAllowed: boolean;
  /** Port names of the workload's service, if it is known. */
  readonly servicePorts?: ReadonlySet<string>;
}

/** Checks the address of a workload: an address, a socket, or a network with a gateway. */
export function checkWorkload(
  workload: WorkloadEntry,
  { namesAllowed, servicePorts }: WorkloadRules,
  place: Place,
): void {
  const { address, network, ports, labels } = workload;
  const socket = address.startsWith(unix);
  if (address === "") {
    if (network === "") {
      place.at("address").error("is missing, expected an address or a network");
      return;
    }
    place.at("address").warning(`is missing, the gateway of network ${network} is used instead`);
  } else if (socket) {
    checkUnixSocket(address.slice(unix.length), place.at("address"));
    if (Object.keys(ports).length > 0) place.at("ports").error("is set, expected none with a Unix socket");
    if (servicePorts !== undefined && servicePorts.size !== 1)
      place.at("address").error(`is a Unix socket, expected the service to have one port and not ${servicePorts.size}`);
  } else if (!isIpAddress(address) && !(namesAllowed && fqdnFault(address) === undefined)) {
    place
      .at("address")
      .error(`is ${JSON.stringify(address)}, expected an IP address${namesAllowed ? " or a domain name" : ""}`);
  }
  checkWorkloadPorts(ports, servicePorts, place.at("ports"));
  checkLabels(labels, place.at("labels"));
}

/** Checks the ports of a workload, keyed by the port names of its service. */
export function checkWorkloadPorts(
  ports: Readonly<Record<string, number>>,
  servicePorts: ReadonlySet<string> | undefined,
  place: Place,
): void {
  for (const [name, port] of Object.entries(ports)) {
    if (servicePorts !== undefined && !servicePorts.has(name))
      place.at(name).error("is not a port of the service, expected the name of one");
    checkPortName(name, place.at(name));
    checkPort(port, place.at(name));
  }
}
