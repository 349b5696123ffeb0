import { GoInteger, GoList, GoStruct, type Value } from "@istiod/go-template";

/** Returns the TCP ports of all containers, separated by commas. */
export const containerPorts = (containers: GoList): string => portsOf(structsOf(containers));

/** Returns the TCP ports of all containers but the proxy's, separated by commas. */
export const applicationPorts = (containers: GoList): string =>
  portsOf(structsOf(containers).filter(({ fields }) => fields.get("Name") !== "istio-proxy"));

function portsOf(containers: readonly GoStruct[]): string {
  const ports = containers.flatMap(({ fields }) => structsOf(fields.get("Ports")));
  return ports
    .filter(({ fields }) => !["UDP", "SCTP"].includes(String(fields.get("Protocol"))))
    .map(({ fields }) => fields.get("ContainerPort"))
    .map((port) => (port instanceof GoInteger ? port.value.toString() : ""))
    .join(",");
}

/** Returns the structs of a list. */
export const structsOf = (list: Value | undefined): readonly GoStruct[] =>
  list instanceof GoList ? list.items.filter((item) => item instanceof GoStruct) : [];
