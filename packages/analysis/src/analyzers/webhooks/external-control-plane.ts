import { isIP } from "node:net";
import type { WebhookConfigurationObject } from "@istiod/config-schema";
import type { AnalysisContext } from "../../analyzer.js";

/** Checks the addresses of a control plane outside the cluster in Istio's webhooks. */
export function checkAddresses({ spec }: WebhookConfigurationObject, { report }: AnalysisContext): void {
  for (const [i, { name, url, service }] of spec.webhooks.entries()) {
    const path = ["webhooks", i, "clientConfig"];
    if (url === undefined) {
      if (service === undefined)
        report(
          "IST0163",
          path,
          `webhook ${name} has neither a URL nor a service of the control plane: its address is blank; set clientConfig.url or clientConfig.service`,
        );
      continue;
    }
    const host = hostOf(url);
    if (host === undefined) {
      report(
        "IST0163",
        [...path, "url"],
        `the URL ${JSON.stringify(url)} of webhook ${name} is invalid; expected one such as https://istiod.example.com:15017/inject`,
      );
    } else if (isIP(host) !== 0) {
      report(
        "IST0164",
        [...path, "url"],
        `the URL ${JSON.stringify(url)} of webhook ${name} has an IP address (${host}) instead of a hostname, which may make it harder to use a certificate or to move the control plane`,
      );
    }
  }
}

/** Reports whether a ValidatingWebhookConfiguration belongs to Istio. */
export function isValidator({ name }: WebhookConfigurationObject): boolean {
  return name === "istiod-default-validator" || name.startsWith("istio-validator");
}

/** Reports whether a MutatingWebhookConfiguration belongs to Istio. */
export function isSidecarInjector({ name }: WebhookConfigurationObject): boolean {
  return name.startsWith("istio-sidecar-injector");
}

/** Matches control characters, a colon without a scheme, and a percent sign without an escape. */
const malformed = [/\p{Cc}/u, /^(?![a-zA-Z][a-zA-Z0-9+.-]*:)[^/?#]*:/, /^[^?]*%(?![0-9a-fA-F]{2})/];

/**
 * Returns the host of a URL as written, empty if there is none; undefined if Go's `url.Parse` would reject the URL.
 */
function hostOf(url: string): string | undefined {
  if (malformed.some((fault) => fault.test(url))) return undefined;
  const authority = /^(?:[a-zA-Z][a-zA-Z0-9+.-]*:)?\/\/([^/?#]*)/.exec(url)?.[1] ?? "";
  const parts = /^(?:\[([^\]]*)\]|([^:[\]\s\\^`{|}]*))(?::\d*)?$/.exec(authority.slice(authority.lastIndexOf("@") + 1));
  return parts === null ? undefined : (parts[1] ?? parts[2]);
}
