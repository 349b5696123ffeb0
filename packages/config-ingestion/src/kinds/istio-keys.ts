const domains = ["gateway.networking.k8s.io", "resource.opentelemetry.io"];

/** True for a label or annotation key in a domain whose keys have a meaning to Istio: `istio.io` and those below it, and a few more. */
export function isIstioKey(key: string): boolean {
  const slash = key.indexOf("/");
  const domain = slash < 0 ? key : key.slice(0, slash);
  return (
    domain === "istio.io" ||
    domain.endsWith(".istio.io") ||
    key === "istio-injection" ||
    key === "istio-locality" ||
    key === "istio" ||
    key === "kubernetes.io/ingress.class" ||
    domains.includes(domain)
  );
}
