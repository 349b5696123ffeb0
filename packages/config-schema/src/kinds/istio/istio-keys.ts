const domains = ["gateway.networking.k8s.io", "resource.opentelemetry.io"];

/**
 * Reports whether a label or annotation is kept: those of Istio's domains and a few more. Istio's analysis includes
 * every domain that ends with `istio.io`; Secrets of remote clusters have labels of the domain `istio`.
 */
export function isIstioKey(key: string): boolean {
  const slash = key.indexOf("/");
  const domain = slash < 0 ? key : key.slice(0, slash);
  return (
    domain.endsWith("istio.io") ||
    domain === "istio" ||
    key === "istio-injection" ||
    key === "istio-locality" ||
    key === "kubernetes.io/ingress.class" ||
    domains.includes(domain)
  );
}
