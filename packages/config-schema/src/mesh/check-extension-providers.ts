import { STATUS_CODES } from "node:http";
import type { MeshConfig_ExtensionProvider as ExtensionProvider } from "@istiod/istio-api/mesh/v1alpha1/config";
import { isPort } from "../validation/network/addresses.js";
import { isIpAddress } from "../validation/network/ip.js";
import { fqdnFault } from "../validation/network/names.js";
import { each, type Place } from "../validation/place.js";
import { checkProviderFormats } from "./provider-formats.js";

/**
 * Checks extension providers. Faults are warnings, since a provider matters only if it is used, except those of values
 * that Envoy would reject.
 */
export function checkExtensionProviders(providers: readonly ExtensionProvider[], place: Place): void {
  const names = new Set<string>();
  each(providers, place, ({ name, provider }, at) => {
    if (name === "") at.at("name").warning("is missing, expected a name to refer to the provider");
    else if (names.has(name)) at.at("name").warning(`is ${JSON.stringify(name)} a second time, expected unique names`);
    names.add(name);
    if (provider.case === undefined) {
      at.warning("has no provider of a known kind");
      return;
    }
    const within = at.at(provider.case);
    checkProviderFormats({ provider }, within);
    if ("service" in provider.value) {
      checkProviderService(provider.value.service, within.at("service"));
      if (!isPort(provider.value.port))
        within
          .at("port")
          .warning(
            `is ${provider.value.port === 0 ? "0 or missing" : provider.value.port}, expected a port from 1 to 65535`,
          );
    }
    switch (provider.case) {
      case "envoyExtAuthzHttp":
        checkStatusOnError(provider.value.statusOnError, within.at("statusOnError"));
        if (provider.value.pathPrefix !== "" && !provider.value.pathPrefix.startsWith("/"))
          within
            .at("pathPrefix")
            .warning(`is ${JSON.stringify(provider.value.pathPrefix)}, expected it to begin with /`);
        break;
      case "envoyExtAuthzGrpc":
        checkStatusOnError(provider.value.statusOnError, within.at("statusOnError"));
        break;
      case "lightstep":
        if (provider.value.accessToken === "") within.at("accessToken").warning("is missing, expected a token");
        break;
      default:
    }
  });
}

/** Checks the service of a provider: `host` or `namespace/host`. */
function checkProviderService(service: string, place: Place): void {
  const slash = service.indexOf("/");
  const host = service.slice(slash + 1);
  const sound =
    slash < 0
      ? fqdnFault(host) === undefined || isIpAddress(host)
      : slash > 0 && host.includes(".") && (fqdnFault(host) === undefined || host.startsWith("*."));
  if (!sound)
    place.warning(`is ${service === "" ? "missing" : JSON.stringify(service)}, expected host or namespace/host`);
}

function checkStatusOnError(status: string, place: Place): void {
  if (status !== "" && !(/^\d+$/.test(status) && STATUS_CODES[Number(status)] !== undefined))
    place.warning(`is ${JSON.stringify(status)}, expected the number of an HTTP status`);
}
